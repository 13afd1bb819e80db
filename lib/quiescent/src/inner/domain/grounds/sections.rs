//! Sections of a domain of the program's own, where they need more than a store and a look: a thread that reads in another
//! domain than the last time, or for the first time; fenced mode; the crowd; and a driver that waits.

use super::Grounds;
use crate::inner::domain::process::Process;
use crate::inner::gp::driver::Drives as _;
use crate::inner::prim::{self, CELL_CROWDS, Ordering};
use crate::inner::reader::record::Seat;
use crate::inner::reader::spots::Spot;
use crate::inner::reader::threads::Slot;
use crate::inner::reader::word::{self, FLAG_CLEAR, Reader, SINK_CROWD};

impl Grounds {
    /// The calling thread's spot here, if it has one; no new one is made.
    pub(crate) fn own_spot(&'static self) -> Option<&'static Spot> {
        let slot = prim::domain().own_slot()?;
        slot.spots.spot(self.number)
    }

    /// Is the calling thread inside a section, as far as that is known?
    pub(crate) fn is_inside(&'static self) -> bool {
        prim::tls_get(CELL_CROWDS) != 0 || self.own_spot().is_some_and(|spot| spot.seat.is_inside())
    }

    /// Opens a section of the calling thread. Its spot was not the one that it has noted.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(never)]
    pub(crate) fn lock_anew(&'static self) -> &'static Reader {
        let domain = prim::domain();
        let reader = prim::reader();
        if !std::ptr::eq(reader, domain.dummy())
            && let Some(spot) = Slot::of(reader).spots.spot(self.number)
        {
            prim::note_spot(spot);
            return spot.seat.lock();
        }
        self.lock_slowly(domain)
    }

    /// The same for a thread that has not read here before, or does not go the fast way.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    fn lock_slowly(&'static self, domain: &'static Process) -> &'static Reader {
        let inside = prim::tls_get(CELL_CROWDS);
        let slot = domain.own_slot_or_register();
        let spot = slot.and_then(|slot| match inside {
            0 => Some((slot, self.spots.of_slot(self, slot)?)),
            _ => Some((slot, slot.spots.spot(self.number)?)),
        });
        let Some((slot, spot)) = spot else {
            return self.lock_crowd(inside);
        };
        if !std::ptr::eq(prim::reader(), &raw const slot.seat.reader) {
            return spot.seat.lock_fenced();
        }
        prim::note_spot(spot);
        spot.seat.lock()
    }

    /// All of a thread's open guards in crowds are on the same side, as in the process's domain and for the same reason, whatever
    /// domains they are of. `inside`: what the cell counts.
    #[cfg_attr(feature = "locations", track_caller)]
    fn lock_crowd(&'static self, inside: usize) -> &'static Reader {
        let side = match inside {
            0 => self.spots.crowd_side(),
            _ => word::own_side(CELL_CROWDS),
        };
        // Before it joins: a handler that comes from here on joins the same side, and does not register.
        prim::tls_set(CELL_CROWDS, inside + word::crowd_unit(side));
        if inside == 0 && self.own_spot().is_some() {
            prim::tls_set(CELL_CROWDS, inside); // one has read here just before
            return self.lock_anew();
        }
        self.spots.crowd_enter(side)
    }

    /// Ends a section and begins another, if a driver waits for that; returns the new word. Only an outermost one.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    pub(crate) fn repin_slowly(&'static self, reader: &'static Reader) -> &'static Reader {
        let nested = |side| word::crowd_sections(CELL_CROWDS, side);
        let crowd = |sink| (self.spots.crowd_flagged(sink), nested(0) + nested(1));
        if !Seat::is_in_the_way(reader, crowd) {
            return reader;
        }
        if word::end(reader) {
            self.unlock_slowly(reader);
        }
        self.lock_anew()
    }

    /// A section has ended whose word is flagged: a driver waits, or it was a sink.
    #[cold]
    #[inline(never)]
    pub(crate) fn unlock_slowly(&self, reader: &'static Reader) {
        let waited_for = Seat::close(reader, |sink| {
            word::leave_side(CELL_CROWDS, sink - SINK_CROWD);
            self.spots.crowd_leave(sink)
        });
        if let Some(reader) = waited_for {
            self.wake_driver(reader);
        }
    }

    /// A reader that was flagged is outside: it clears its flag and wakes the driver, if one sleeps, and the caretaker, if that waits.
    /// Perhaps in a signal handler: no lock.
    fn wake_driver(&self, reader: &Reader) {
        // Locked instructions, in this order: [FS-1].
        reader.flag.swap(FLAG_CLEAR, Ordering::AcqRel); // [GR-1]
        // SAFETY: null, or a yard, and those live for ever.
        if let Some(yard) = unsafe { self.yard.load(Ordering::Acquire).as_ref() } {
            yard.rouse_driver(true);
            yard.tell_caretaker();
        }
    }
}
