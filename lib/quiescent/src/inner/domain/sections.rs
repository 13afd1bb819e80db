//! Sections of a domain of the program, where they need more than a store and a look: a thread that reads in
//! another domain than the last time, or for the first time; fenced mode; unregistered readers; a driver that waits.

use super::{Domain, Readers};
use crate::inner::domain::env::Env;
use crate::inner::prim::{self, CELL_CROWDS, Ordering};
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::record::Seat;
use crate::inner::reader::spots::{Spot, Spots};
use crate::inner::reader::threads::Slot;
use crate::inner::reader::word::{self, FLAG_CLEAR, Reader, SINK_CROWD};

impl Domain {
    /// The records of its threads. (Only the methods of domains of the program come here.)
    fn spots(&'static self) -> &'static Spots {
        match &self.readers {
            Readers::Spots(spots) => spots,
            Readers::Threads | Readers::Counted(_) => unreachable!("a domain of threads"),
        }
    }

    /// The calling thread's spot here, if it has one; no new one is made.
    pub(crate) fn own_spot(&'static self) -> Option<&'static Spot> {
        if !matches!(self.readers, Readers::Spots(_)) {
            return None;
        }
        let slot = prim::env().own_slot()?;
        slot.spots.spot(self.number)
    }

    /// The queue to which the calling thread pushes here without a lock, if there is one; its record was not the one
    /// that it has noted.
    #[inline(never)]
    pub(crate) fn attached_queue(&'static self) -> Option<&'static Queue> {
        let reader = prim::reader();
        if std::ptr::eq(reader, prim::env().dummy()) {
            return None; // it has no record, or readers carry the fence
        }
        let slot = Slot::of(reader);
        let attached = match &self.readers {
            Readers::Threads => return Some(prim::queue()),
            Readers::Spots(_) => {
                let spot = slot.spots.spot(self.number)?;
                prim::note_spot(spot);
                spot.attached()
            }
            Readers::Counted(counted) => counted.of_slot_if_any(slot.cpu())?.attached(),
        };
        // SAFETY: null, or a queue, and those live for ever.
        unsafe { attached.as_ref() }
    }

    /// Is the calling thread inside a section, as far as that is known?
    pub(crate) fn is_inside_here(&'static self) -> bool {
        prim::tls_get(CELL_CROWDS) != 0 || self.own_spot().is_some_and(|spot| spot.seat.is_inside())
    }

    /// Opens a section of the calling thread. Its spot was not the one that it has noted.
    #[cfg_attr(feature = "locations", track_caller)]
    #[inline(never)]
    pub(crate) fn lock_anew(&'static self) -> &'static Reader {
        let env = prim::env();
        let reader = prim::reader();
        if !std::ptr::eq(reader, env.dummy())
            && let Some(spot) = Slot::of(reader).spots.spot(self.number)
        {
            prim::note_spot(spot);
            return spot.seat.lock();
        }
        self.lock_slowly(env)
    }

    /// The same for a thread that has not read here before, or does not go the fast way.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    fn lock_slowly(&'static self, env: &'static Env) -> &'static Reader {
        let inside = prim::tls_get(CELL_CROWDS);
        let slot = env.own_slot_or_register();
        let spot = slot.and_then(|slot| match inside {
            0 => Some((slot, self.spots().of_slot(self, slot)?)),
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

    /// A section without a record. `inside`: what the cell counts.
    #[cfg_attr(feature = "locations", track_caller)]
    fn lock_crowd(&'static self, inside: usize) -> &'static Reader {
        // Before it joins: a handler that comes from here on joins the same side, and does not register.
        let side = word::join_crowd(CELL_CROWDS, self.spots().crowd_side());
        if inside == 0 && self.own_spot().is_some() {
            prim::tls_set(CELL_CROWDS, inside); // one has read here just before
            return self.lock_anew();
        }
        self.spots().crowd_enter(side)
    }

    /// Ends a section and begins another, if a driver waits for that; returns the new word. Only an outermost one.
    #[cfg_attr(feature = "locations", track_caller)]
    #[cold]
    #[inline(never)]
    pub(crate) fn repin_slowly(&'static self, reader: &'static Reader) -> &'static Reader {
        let nested = |side| word::crowd_sections(CELL_CROWDS, side);
        let crowd = |sink| (self.spots().crowd_flagged(sink), nested(0) + nested(1));
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
    pub(crate) fn unlock_slowly(&'static self, reader: &'static Reader) {
        let waited_for = Seat::close(reader, |sink| {
            word::leave_crowd(CELL_CROWDS, sink - SINK_CROWD);
            self.spots().crowd_leave(sink)
        });
        if let Some(reader) = waited_for {
            match self.state_if_any() {
                Some(state) => state.wake_driver(reader),
                None => reader.flag.store(FLAG_CLEAR, Ordering::Release),
            }
        }
    }
}
