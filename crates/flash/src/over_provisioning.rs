//! Over-provisioning: flash beyond what the host sees. Two conventions are in use, and they are not the same number.
//!
//! With user capacity U and physical capacity T, vendors speak of T/U − 1 ("7 %", "28 %") and many papers of
//! 1 − U/T. A drive with 28 % over-provisioning has 21.9 % of its flash spare. Here *over-provisioning* always means
//! the first; the second is called *spare of physical*.

use crate::error::FlashError;

/// Spare flash relative to user capacity: T/U − 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct OverProvisioning(f64);

impl OverProvisioning {
    /// From T/U − 1, which must be positive and finite: 0.07 for "7 %".
    pub fn of_user(ratio: f64) -> Result<Self, FlashError> {
        if !(ratio > 0.0 && ratio.is_finite()) {
            return Err(FlashError::invalid(
                "over-provisioning",
                ratio,
                "must be greater than 0, or no block ever gets free",
            ));
        }
        Ok(Self(ratio))
    }

    /// From the other convention, 1 − U/T, which must lie between 0 and 1.
    pub fn spare_of_physical(share: f64) -> Result<Self, FlashError> {
        if !(share > 0.0 && share < 1.0) {
            return Err(FlashError::invalid("spare of physical", share, "must lie between 0 and 1, both excluded"));
        }
        Ok(Self(share / (1.0 - share)))
    }

    /// T/U − 1.
    pub fn ratio(self) -> f64 {
        self.0
    }

    /// T/U, the α of the formulas in [`crate::theory`].
    pub fn alpha(self) -> f64 {
        1.0 + self.0
    }

    /// 1 − U/T.
    pub fn as_spare_of_physical(self) -> f64 {
        self.0 / (1.0 + self.0)
    }
}
