//! Compiled modules that outlive the process which compiled them.
//!
//! What a compiled module does is believed: it is machine code. So only what this node's own key has sealed is read back; whoever
//! could forge that could change this program as well. `docs/design/mobility.md` says who could do what.

use std::sync::Arc;

use ring::hmac;
use wasmtime::Engine;

use crate::admission::{Admitted, ModuleHash};

/// Where compiled modules are kept.
pub trait KeptForms: Send + Sync {
    /// What was kept of this module.
    fn find(&self, module: ModuleHash) -> Option<Vec<u8>>;

    /// Keeps what was made of this module, if that can be.
    fn keep(&self, module: ModuleHash, form: &[u8]);
}

/// Compiled modules, and the key that seals them.
#[derive(Clone)]
pub struct CompiledForms {
    key: hmac::Key,
    place: Arc<dyn KeptForms>,
}

impl CompiledForms {
    /// Those kept there. Nobody else may know the key.
    pub fn new(key: &[u8; 32], place: Arc<dyn KeptForms>) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), place }
    }

    /// The key for what is made of these bytes: nothing else can stand in for it.
    fn seal_of(&self, admitted: &Admitted) -> hmac::Key {
        let of_this = hmac::sign(&self.key, &ModuleHash::of(&admitted.bytes).0);
        hmac::Key::new(hmac::HMAC_SHA256, of_this.as_ref())
    }

    pub(crate) fn find(&self, engine: &Engine, admitted: &Admitted) -> Option<wasmtime::Module> {
        let sealed = self.place.find(admitted.hash)?;
        let (seal, form) = sealed.split_at_checked(hmac::HMAC_SHA256.digest_algorithm().output_len())?;
        hmac::verify(&self.seal_of(admitted), form, seal).ok()?;
        // SAFETY: the seal says that these bytes are what `serialize` returned, for this very module, to who had the key. That was this
        // program or an earlier release of it; the engine refuses what another version, or one set up differently, has written.
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

    /// The last that was kept.
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
    fn what_was_compiled_is_read_back_and_nothing_else() {
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
        // What is of no use is replaced.
        let anew = host(&forms);
        anew.module(&bytes).unwrap();
        assert!(forms.find(&anew.engine, &admitted).is_some());
    }
}
