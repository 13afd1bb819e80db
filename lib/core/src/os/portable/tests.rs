use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn a_sleeper_whose_word_has_changed_does_not_sleep() {
    let late = now_ns() + 30_000_000_000;
    futex_wait(&AtomicU32::new(1), 0, Some(Duration::from_secs(30)));
    assert!(now_ns() < late);
}

#[test]
fn a_sleep_ends_with_its_time() {
    let word = AtomicU32::new(0);
    let begun = now_ns();
    while now_ns() < begun + 2_000_000 {
        futex_wait(&word, 0, Some(Duration::from_millis(2)));
    }
    futex_wake_all(&word); // finds no sleeper
}

#[test]
fn each_sleeper_on_a_word_is_woken() {
    let words: Arc<[AtomicU32; 200]> = Arc::new(std::array::from_fn(|_| AtomicU32::new(0)));
    // More words than bells: some share one. Two threads sleep on each.
    let sleepers: Vec<_> = (0..400)
        .map(|n| {
            let words = Arc::clone(&words);
            std::thread::spawn(move || {
                while words[n / 2].load(Ordering::Acquire) == 0 {
                    futex_wait(&words[n / 2], 0, None);
                }
            })
        })
        .collect();
    for (n, word) in words.iter().enumerate() {
        word.store(1, Ordering::Release);
        match n % 2 {
            0 => (0..2).for_each(|_| futex_wake(word)),
            _ => futex_wake_all(word),
        }
    }
    for sleeper in sleepers {
        sleeper.join().unwrap();
    }
}

#[test]
fn a_timer_is_set_to_an_earlier_time_while_its_thread_sleeps() {
    let timer = Arc::new(Timer::new());
    let late = now_ns() + 30_000_000_000;
    timer.set(late);
    let waits = {
        let timer = Arc::clone(&timer);
        std::thread::spawn(move || timer.wait())
    };
    while !timer.is_awaited() {
        std::thread::yield_now();
    }
    let soon = now_ns() + 1_000_000;
    timer.set(soon);
    assert!(waits.join().unwrap());
    assert!((soon..late).contains(&now_ns()));
}

#[test]
fn a_timer_that_was_stopped_does_not_expire() {
    let wakeups = Arc::new(Wakeups::new());
    wakeups.set_timer(now_ns() + 1_000_000);
    wakeups.set_timer(0);
    let sleeps = {
        let wakeups = Arc::clone(&wakeups);
        std::thread::spawn(move || wakeups.sleep(&AtomicU32::new(0), 0))
    };
    while !wakeups.0.is_awaited() {
        std::thread::yield_now();
    }
    wakeups.wake(&AtomicU32::new(0));
    let woken = sleeps.join().unwrap();
    assert!(woken.kick && !woken.timer, "{woken:?}");
}

#[test]
fn a_timer_that_is_set_wakes_the_worker_and_is_over() {
    let wakeups = Wakeups::new();
    let deadline = now_ns() + 1_000_000;
    wakeups.set_timer(deadline);
    let woken = wakeups.sleep(&AtomicU32::new(0), 0);
    assert!(woken.timer && !woken.kick && now_ns() >= deadline);
    wakeups.wake(&AtomicU32::new(0));
    let woken = wakeups.sleep(&AtomicU32::new(0), 0);
    assert!(woken.kick && !woken.timer, "{woken:?}");
}

#[test]
fn what_no_system_promises_is_refused() {
    assert_eq!(
        (heavy_fence(), register_heavy_fence()),
        (Err(NO_SUCH_CALL), Err(NO_SUCH_CALL))
    );
    let page = SharedPage::none();
    assert!(page.make(c"page", 4096).is_err());
    assert!(has_more_rights() && Timer::new().open());
    assert_eq!(
        Wakeups::new().sources(),
        crate::os::pressure::PressureSources::default()
    );
}

#[test]
fn a_thread_that_is_started_runs_and_has_its_name() {
    let (sender, receiver) = std::sync::mpsc::channel();
    static ENDED: Ended = Ended::new();
    let body = move || -> bool {
        let name = std::thread::current().name().map(str::to_owned);
        sender.send(name).expect("the test waits");
        panic!("contained");
    };
    spawn(c"quiescent-test", &ENDED, body).expect("a thread");
    assert_eq!(receiver.recv(), Ok(Some("quiescent-test".to_owned())));
}

#[test]
fn the_end_of_a_thread_calls_each_hook_once_with_its_last_value() {
    use std::ffi::c_void;
    use std::sync::atomic::AtomicUsize;
    static CALLED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn ended(value: *mut c_void) {
        CALLED.fetch_add(value.addr(), Ordering::Relaxed);
        // SAFETY: it takes any number.
        let armed = unsafe { AtExit::new(ended).arm(value) };
        assert!(AtExit::new(ended).is_over() && !armed);
    }
    let hook = AtExit::new(ended);
    // SAFETY: it takes any number.
    let arm = |value| unsafe { hook.arm(std::ptr::without_provenance(value)) };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| arm(1) && arm(100) && !hook.is_over());
        assert!(thread.join().unwrap());
    });
    assert_eq!(CALLED.load(Ordering::Relaxed), 100);
}

#[test]
fn memory_is_zeroed_and_aligned() {
    let memory = map(10_000).expect("memory");
    assert_eq!(memory.addr().get() % 4096, 0);
    // SAFETY: ours, of this size, and written whole.
    let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr(), 10_000) };
    assert!(bytes.iter().all(|&byte| byte == 0));
    // SAFETY: from `map`, with this size.
    unsafe { unmap(memory, 10_000) };
}

#[test]
fn threads_have_different_numbers() {
    let own = thread_id();
    let other = std::thread::spawn(thread_id).join().unwrap();
    assert!(own != 0 && other != 0 && own != other && own == thread_id());
    #[cfg(target_os = "linux")]
    {
        // SAFETY: it has no arguments and cannot fail.
        let known = unsafe { libc::syscall(libc::SYS_gettid) };
        assert_eq!(i64::from(own), known as i64);
    }
}

#[test]
fn clocks_go_forward_from_a_large_time() {
    let times = [now_ns(), coarse_ns(), now_ns()];
    assert!(times.is_sorted() && times[0] >= 1 << 40, "{times:?}");
}

#[test]
fn a_timer_says_how_much_time_is_left() {
    let timer = Timer::new();
    assert_eq!(timer.left(), 0);
    timer.set(now_ns() + 3_600_000_000_000);
    assert!(timer.left() > 1_000_000_000);
    timer.set(1);
    assert_eq!(timer.left(), 0);
}
