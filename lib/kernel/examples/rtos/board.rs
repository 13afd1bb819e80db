//! A Cortex-M4 on QEMU (`mps2-an386`): start, tick, memory, and what is printed.

use super::{HZ, run};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::{entry, exception};
use cortex_m_semihosting::{debug, hprintln};
use embedded_alloc::LlffHeap;

/// The board's clock, in cycles a second.
const CLOCK: u32 = 25_000_000;
/// Bytes for the engine's tree and the list of what is retired.
const HEAP: usize = 32 * 1024;

#[global_allocator]
static MEMORY: LlffHeap = LlffHeap::empty();

static TICKED: AtomicU32 = AtomicU32::new(0);

#[exception]
fn SysTick() {
    TICKED.fetch_add(1, Ordering::Relaxed);
}

#[entry]
fn start() -> ! {
    // SAFETY: `start` runs once, and nothing has been allocated before.
    unsafe {
        embedded_alloc::init!(MEMORY, HEAP);
    }
    let mut board = cortex_m::Peripherals::take().expect("taken once");
    board.SYST.set_clock_source(SystClkSource::Core);
    board.SYST.set_reload(CLOCK / HZ - 1);
    board.SYST.clear_current();
    board.SYST.enable_counter();
    board.SYST.enable_interrupt();
    let mut seen = 0;
    let done = run(|| {
        while TICKED.load(Ordering::Relaxed) == seen {
            cortex_m::asm::wfi();
        }
        seen = TICKED.load(Ordering::Relaxed);
        u64::from(seen)
    });
    hprintln!("{:?}", done);
    end(debug::EXIT_SUCCESS)
}

#[panic_handler]
fn panicked(why: &PanicInfo) -> ! {
    hprintln!("{}", why);
    end(debug::EXIT_FAILURE)
}

fn end(how: debug::ExitStatus) -> ! {
    debug::exit(how);
    loop {
        cortex_m::asm::wfi();
    }
}
