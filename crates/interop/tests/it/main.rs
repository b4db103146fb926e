//! Tests of the protocols from outside.

mod a2a;
