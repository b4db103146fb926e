//! ams and df as ACL agents.
