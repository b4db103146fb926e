//! Tests of the platform's capabilities, a module for each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod advice;
mod agent_management;
mod ams;
mod ams_model;
mod cluster;
mod cluster_model;
mod devices;
mod df;
mod df_model;
mod durable_actors;
mod durable_books;
mod durable_model;
mod durable_nodes;
mod durable_servers;
mod fetches;
mod fuzz;
mod layout;
mod local;
mod mailbox_once;
mod mobility_model;
mod protocols;
mod python_frames;
mod topics_model;
