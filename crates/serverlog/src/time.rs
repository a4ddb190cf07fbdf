//! Times as the server writes them, in microseconds since 1970 of the clock on the server's wall.
//!
//! A zone is an abbreviation without an offset (manual, "log_timezone"), so it is not applied: only differences between
//! times of one log are used.

/// `2026-11-23 01:29:46.123 UTC` or without milliseconds; also how many bytes it takes with its zone.
pub fn timestamp(text: &[u8]) -> Option<(i64, usize)> {
    let fixed: &[u8; 19] = text.first_chunk()?;
    let mut is_shaped = (fixed[4], fixed[7], fixed[10], fixed[13], fixed[16]) == (b'-', b'-', b' ', b':', b':');
    let mut two = |at: usize| {
        let (tens, ones) = (fixed[at].wrapping_sub(b'0'), fixed[at + 1].wrapping_sub(b'0'));
        is_shaped &= tens <= 9 && ones <= 9;
        i64::from(tens) * 10 + i64::from(ones)
    };
    let (year, month, day) = (two(0) * 100 + two(2), two(5), two(8));
    let (hour, minute, second) = (two(11), two(14), two(17));
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_shaped || !in_range || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let (mut used, mut fraction_us) = (19, 0);
    if text.get(19) == Some(&b'.') {
        let digits = digits(&text[20..]);
        if digits == 0 || digits > 6 {
            return None;
        }
        fraction_us = number(&text[20..20 + digits])? * 10i64.pow(6 - digits as u32);
        used = 20 + digits;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some((seconds * 1_000_000 + fraction_us, used + zone(&text[used..])))
}

/// `1795229900.324`, as `%n` writes it.
pub fn epoch(text: &[u8]) -> Option<(i64, usize)> {
    let whole = digits(text);
    if whole == 0 || whole > 12 {
        return None;
    }
    let seconds = number(&text[..whole])? * 1_000_000;
    if text.get(whole) != Some(&b'.') {
        return Some((seconds, whole));
    }
    let part = digits(&text[whole + 1..]);
    if part == 0 || part > 6 {
        return None;
    }
    let fraction = number(&text[whole + 1..whole + 1 + part])? * 10i64.pow(6 - part as u32);
    Some((seconds + fraction, whole + 1 + part))
}

/// How many digits stand at the start.
pub fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The blank and the zone: letters, or a sign with digits and perhaps minutes (`+05:30`).
fn zone(text: &[u8]) -> usize {
    let Some(text) = text.strip_prefix(b" ") else {
        return 0;
    };
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if letters > 0 {
        return 1 + letters;
    }
    let hours = digits(text.get(1..).unwrap_or_default());
    if !matches!(text.first(), Some(b'+' | b'-')) || hours == 0 {
        return 0;
    }
    match text[1 + hours..].strip_prefix(b":").map(digits) {
        Some(2) => 2 + hours + 3,
        _ => 2 + hours,
    }
}

fn number(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum: i64, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Days since 1970 of a date of the Gregorian calendar: whole years, leap days, days of the months before.
fn days(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let leap_day = i64::from(is_leap && month > 2);
    let years = 365 * (year - 1970) + leaps(year - 1) - leaps(1969);
    years + BEFORE[month as usize - 1] + leap_day + day - 1
}

/// ISO 8601: `2026-03-14T00:23:00.123456789+01:00`, in µs since 1970 of UTC; also how many bytes it takes.
pub fn iso(text: &[u8]) -> Option<(i64, usize)> {
    let mut plain: [u8; 19] = *text.first_chunk()?;
    if plain[10] != b'T' {
        return None;
    }
    plain[10] = b' ';
    let (mut time_us, mut used) = timestamp(&plain)?;
    if text.get(used) == Some(&b'.') {
        let part = digits(&text[used + 1..]);
        let known = part.min(6);
        time_us += number(&text[used + 1..used + 1 + known])? * 10i64.pow(6 - known as u32);
        used += 1 + part;
    }
    let sign = match text.get(used) {
        Some(b'Z') => return Some((time_us, used + 1)),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Some((time_us, used)),
    };
    let hours = number(text.get(used + 1..used + 3)?)?;
    let colon = usize::from(text.get(used + 3) == Some(&b':'));
    let minutes = number(text.get(used + 3 + colon..used + 5 + colon)?)?;
    Some((time_us - sign * (hours * 60 + minutes) * 60_000_000, used + 5 + colon))
}

/// RFC 3164: `Dec 15 06:25:40`, as a time of the year 2000, since it has no year.
pub fn month_day_time(text: &[u8]) -> Option<(i64, usize)> {
    const MONTHS: [&[u8; 3]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let fixed: &[u8; 15] = text.first_chunk()?;
    let month = MONTHS.iter().position(|name| fixed.starts_with(*name))? as u8 + 1;
    let mut written = *b"2000-00-00 00:00:00";
    (written[5], written[6]) = (b'0' + month / 10, b'0' + month % 10);
    (written[8], written[9]) = (if fixed[4] == b' ' { b'0' } else { fixed[4] }, fixed[5]);
    written[11..].copy_from_slice(&fixed[7..]);
    let (time_us, _) = timestamp(&written)?;
    (fixed[3] == b' ' && fixed[6] == b' ').then_some((time_us, 15))
}
