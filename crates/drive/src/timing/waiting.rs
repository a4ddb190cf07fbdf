//! Waking up in time. A sleeping thread wakes some microseconds late, and how late depends on the machine; it asks to
//! be woken earlier by what it has seen, and spins for the rest. Spinning is rationed: the processor is the load's.

use std::cell::Cell;

/// The longest that is ever spun at once.
const MOST_NS: u64 = 40_000;

/// Spinning may take this share of a window.
const RATION: f64 = 0.1;
const WINDOW_NS: u64 = 50_000_000;

/// By how much what has been learned moves at each wake-up.
const STEP_NS: f64 = 2_000.0;

/// Nine of ten wake-ups shall be covered.
const COVERED: f64 = 0.9;

/// By how much the kernel may put off a wake-up; 0 would mean the usual 50 µs.
const SLACK_NS: libc::c_ulong = 1;

/// What has been learned of this machine's wake-ups.
#[derive(Debug)]
pub struct Spinning {
    expected_ns: f64,
    window_from_ns: u64,
    window_spun_ns: u64,
    /// All that was spun.
    pub spun_ns: u64,
}

impl Default for Spinning {
    fn default() -> Self {
        Self { expected_ns: 10_000.0, window_from_ns: 0, window_spun_ns: 0, spun_ns: 0 }
    }
}

impl Spinning {
    /// How much too early to ask to be woken.
    pub fn margin_ns(&mut self, now_ns: u64) -> u64 {
        if now_ns - self.window_from_ns > WINDOW_NS {
            (self.window_from_ns, self.window_spun_ns) = (now_ns, 0);
        }
        let is_used_up = self.window_spun_ns as f64 > WINDOW_NS as f64 * RATION;
        if is_used_up { 0 } else { (self.expected_ns as u64).min(MOST_NS) }
    }

    /// A sleep took so much longer than it should have.
    pub fn overslept(&mut self, by_ns: u64) {
        let is_more = by_ns as f64 > self.expected_ns;
        self.expected_ns += if is_more { STEP_NS * COVERED } else { STEP_NS * (COVERED - 1.0) };
        self.expected_ns = self.expected_ns.clamp(0.0, 2.0 * MOST_NS as f64);
    }

    /// So much was spun.
    pub fn spun(&mut self, for_ns: u64) {
        self.window_spun_ns += for_ns;
        self.spun_ns += for_ns;
    }
}

/// Lets this thread be woken as precisely as the kernel can (its sleeps may otherwise be 50 µs longer), and before
/// others that want the processor: a drive has one of its own. The second needs a privilege; without it answers are
/// late more often, and counted.
pub fn sharpen() {
    // SAFETY: all zero is a valid value.
    let mut least: libc::sched_param = unsafe { std::mem::zeroed() };
    least.sched_priority = 1;
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: change how our own thread is scheduled.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS);
        if libc::sched_setscheduler(0, policy, &raw const least) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, -15);
        }
    }
}

thread_local! {
    static SHARP: Cell<bool> = const { Cell::new(false) };
}

/// The same, once for each thread that calls it.
pub fn stay_sharp() {
    if !SHARP.replace(true) {
        sharpen();
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_NS, Spinning, WINDOW_NS};

    #[test]
    fn the_margin_settles_where_most_wake_ups_are_covered() {
        let mut spinning = Spinning::default();
        for turn in 0..20_000_u64 {
            spinning.overslept(turn % 10 * 2000 + 1000);
        }
        let margin_ns = spinning.margin_ns(0);
        assert!((15_000..=20_000).contains(&margin_ns), "{margin_ns}");
        (0..1000).for_each(|_| spinning.overslept(10_000_000));
        assert_eq!(spinning.margin_ns(0), MOST_NS, "a busy machine's milliseconds are not spun");
    }

    #[test]
    fn spinning_is_rationed() {
        let mut spinning = Spinning::default();
        assert!(spinning.margin_ns(1) > 0);
        spinning.spun(WINDOW_NS / 9);
        assert_eq!(spinning.margin_ns(2), 0);
        assert!(spinning.margin_ns(2 * WINDOW_NS) > 0, "until the next window");
        assert_eq!(spinning.spun_ns, WINDOW_NS / 9);
    }
}
