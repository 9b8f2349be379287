//! Arithmetic modulo the Castagnoli polynomial, for tables and multipliers computed at compile
//! time.
//!
//! Registers are reflected: the coefficient of x^31 is the lowest bit.

/// The polynomial without its leading term.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// Multiplies a register by x.
pub(super) const fn shift(register: u32) -> u32 {
    let shifted = register >> 1;
    if register & 1 == 1 {
        shifted ^ POLYNOMIAL
    } else {
        shifted
    }
}

/// Divides a register by x.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) const fn unshift(register: u32) -> u32 {
    // The polynomial has this bit set; a register that was shifted without reduction does not.
    if register >> 31 == 1 {
        (register ^ POLYNOMIAL) << 1 | 1
    } else {
        register << 1
    }
}

/// Returns the remainder of x^`exponent` modulo the polynomial.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) const fn power(exponent: usize) -> u32 {
    let mut register = 1 << 31;
    let mut done = 0;
    while done < exponent {
        register = shift(register);
        done += 1;
    }
    register
}
