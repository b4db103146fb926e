//! Numbers and times in four bits a character.
//= fipa00069 2.4.5

/// Characters of codes 1 to 15. Code 11 is unused.
const CHARACTERS: &[u8; 15] = b"0123456789?+e-.";

fn code(character: u8) -> Option<u8> {
    let character = character.to_ascii_lowercase();
    let place = CHARACTERS.iter().position(|other| *other == character && character != b'?')?;
    u8::try_from(place + 1).ok()
}

fn character(code: u8) -> Option<u8> {
    CHARACTERS.get(usize::from(code).checked_sub(1)?).copied().filter(|character| *character != b'?')
}

/// Writes the digits, then a half byte of zeros or a whole one. Characters that no number has are left out.
pub(super) fn write(out: &mut Vec<u8>, digits: &str) {
    let codes: Vec<u8> = digits.bytes().filter_map(code).collect();
    for pair in codes.chunks(2) {
        out.push(match pair {
            [high, low] => high << 4 | low,
            [high] => high << 4,
            _ => 0,
        });
    }
    if codes.len().is_multiple_of(2) {
        out.push(0);
    }
}

/// Reads digits up to the zeros that end them: the text, and how many bytes it took.
pub(super) fn read(bytes: &[u8]) -> Option<(String, usize)> {
    let mut text = String::new();
    for (place, byte) in bytes.iter().enumerate() {
        for code in [byte >> 4, byte & 15] {
            match code {
                0 if text.is_empty() => return None,
                // The half byte after the end is zero as well.
                0 => return (byte & 15 == 0).then_some((text, place + 1)),
                code => text.push(char::from(character(code)?)),
            }
        }
    }
    None
}

/// A time's digits, without its `T`: two to a byte, the last half byte zero.
//= fipa00069 2.4.8
pub(super) fn write_time(out: &mut Vec<u8>, digits: &str) {
    let codes: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).filter_map(code).collect();
    for pair in codes.chunks(2) {
        out.push(pair.first().copied().unwrap_or(0) << 4 | pair.get(1).copied().unwrap_or(0));
    }
}

/// Number of bytes of an encoded time.
pub(super) const TIME_BYTES: usize = 9;

/// Reads a time as text, with its `T`.
pub(super) fn read_time(bytes: &[u8; TIME_BYTES]) -> Option<String> {
    let mut text = String::with_capacity(2 * TIME_BYTES);
    for (place, byte) in bytes.iter().enumerate() {
        if place == 4 {
            text.push('T');
        }
        text.push(char::from(character(byte >> 4)?));
        match byte & 15 {
            0 if place == TIME_BYTES - 1 => {}
            code => text.push(char::from(character(code)?)),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_take_half_a_byte() {
        let written = |digits| {
            let mut out = Vec::new();
            write(&mut out, digits);
            out
        };
        assert_eq!(written("1"), [0x20]);
        assert_eq!(written("12"), [0x23, 0]);
        assert_eq!(written("-1.5e3"), [0xe2, 0xf6, 0xd4, 0]);
        for digits in ["0", "42", "-7", "123456789", "1.5e-300", "9e+9"] {
            let bytes = written(digits);
            assert_eq!(read(&bytes), Some((digits.to_owned(), bytes.len())));
            assert_eq!(read(bytes.get(..bytes.len() - 1).unwrap_or_default()), None, "cut off");
        }
        assert_eq!(read(&[0x00]), None);
        assert_eq!(read(&[0x02]), None, "zeros before the number");
        assert_eq!(read(&[0xb0]), None, "no character has this code");
    }

    #[test]
    fn times_take_nine_bytes() {
        let mut out = Vec::new();
        write_time(&mut out, "20261231T235959999");
        assert_eq!(out, [0x31, 0x37, 0x23, 0x42, 0x34, 0x6a, 0x6a, 0xaa, 0xa0]);
        let bytes: [u8; TIME_BYTES] = out.try_into().expect("nine");
        assert_eq!(read_time(&bytes).as_deref(), Some("20261231T235959999"));
        assert_eq!(read_time(&[0; TIME_BYTES]), None);
    }
}
