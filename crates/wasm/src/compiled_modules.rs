//! Compiled modules that outlive the process which compiled them.
//!
//! A compiled module is machine code, and is trusted. So a node reads back only modules that its own key has sealed.
//! An attacker who can forge the seal could change this program as well. `docs/design/mobility.md` has the threat
//! model.

use std::sync::Arc;

use ring::hmac;
use wasmtime::Engine;

use crate::admission::{Admitted, ModuleHash};

/// Storage of compiled modules.
pub trait KeptForms: Send + Sync {
    /// Returns the compiled form of this module, if there is one.
    fn find(&self, module: ModuleHash) -> Option<Vec<u8>>;

    /// Stores the compiled form of this module, if possible.
    fn keep(&self, module: ModuleHash, form: &[u8]);
}

/// Storage of compiled modules, with the key that seals them.
#[derive(Clone)]
pub struct CompiledForms {
    key: hmac::Key,
    place: Arc<dyn KeptForms>,
}

impl CompiledForms {
    /// Uses this storage. The key must be secret.
    pub fn new(key: &[u8; 32], place: Arc<dyn KeptForms>) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), place }
    }

    /// Derives the key for one module: a compiled form of another module fails the check.
    fn seal_of(&self, admitted: &Admitted) -> hmac::Key {
        let of_this = hmac::sign(&self.key, &ModuleHash::of(&admitted.bytes).0);
        hmac::Key::new(hmac::HMAC_SHA256, of_this.as_ref())
    }

    pub(crate) fn find(&self, engine: &Engine, admitted: &Admitted) -> Option<wasmtime::Module> {
        let sealed = self.place.find(admitted.hash)?;
        let (seal, form) = sealed.split_at_checked(hmac::HMAC_SHA256.digest_algorithm().output_len())?;
        hmac::verify(&self.seal_of(admitted), form, seal).ok()?;
        // SAFETY: the seal proves that `serialize` returned these bytes, for this very module, to a holder of the
        // key. That was this program or an earlier release. The engine refuses the output of another version, or of
        // another configuration.
        unsafe { wasmtime::Module::deserialize(engine, form) }.ok()
    }

    pub(crate) fn keep(&self, module: &wasmtime::Module, admitted: &Admitted) {
        let Ok(form) = module.serialize() else { return };
        let mut sealed = hmac::sign(&self.seal_of(admitted), &form).as_ref().to_vec();
        sealed.extend_from_slice(&form);
        self.place.keep(admitted.hash, &sealed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::admission::admit;
    use crate::{Host, HostOptions};

    /// Storage that keeps the last form only.
    #[derive(Default)]
    struct Last(Mutex<Option<Vec<u8>>>);

    impl KeptForms for Last {
        fn find(&self, _module: ModuleHash) -> Option<Vec<u8>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }

        fn keep(&self, _module: ModuleHash, form: &[u8]) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(form.to_vec());
        }
    }

    fn module(answer: i32) -> Vec<u8> {
        let text = format!(
            r#"(module (memory (export "memory") 1)
                (func (export "whim_abi") (result i32) i32.const 1)
                (func (export "whim_inbox") (param i32) (result i32) i32.const 0)
                (func (export "whim_handle") (param i32 i32) (result i32) i32.const {answer}))"#
        );
        wat::parse_str(text).unwrap()
    }

    fn host(forms: &CompiledForms) -> Arc<Host> {
        Host::new(HostOptions { slots: Some(4), compiled: Some(forms.clone()) }).unwrap()
    }

    #[test]
    fn only_sealed_modules_are_read() {
        let place = Arc::new(Last::default());
        let forms = CompiledForms::new(&[7; 32], Arc::clone(&place) as _);
        let bytes = module(0);
        let admitted = admit(&bytes).unwrap();
        host(&forms).module(&bytes).unwrap();
        let kept = place.find(admitted.hash).unwrap();
        let again = host(&forms);
        assert!(forms.find(&again.engine, &admitted).is_some());
        again.module(&bytes).unwrap();
        // Another module, another key, a changed bit, too few bytes.
        let other = admit(&module(1)).unwrap();
        assert!(forms.find(&again.engine, &other).is_none());
        let stranger = CompiledForms::new(&[8; 32], Arc::clone(&place) as _);
        assert!(stranger.find(&again.engine, &admitted).is_none());
        for at in [0, 40, kept.len() - 1] {
            let mut changed = kept.clone();
            changed[at] ^= 1;
            place.keep(admitted.hash, &changed);
            assert!(forms.find(&again.engine, &admitted).is_none(), "{at}");
        }
        place.keep(admitted.hash, &kept[..20]);
        assert!(forms.find(&again.engine, &admitted).is_none());
        // An unusable form is replaced.
        let anew = host(&forms);
        anew.module(&bytes).unwrap();
        assert!(forms.find(&anew.engine, &admitted).is_some());
    }
}
