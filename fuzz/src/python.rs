//! Properties of frames from a Python process, for any bytes. The fuzz target looks for violations; a test of
//! `platform` replays those that were found.

use whimbrel_platform::limits::PYTHON_FRAME_BYTES_MAX;
use whimbrel_platform::python_frames::{decode, frame_length};

/// Checks that a frame is read or refused, always alike.
pub fn python_frames(bytes: &[u8]) {
    if let Some(length) = bytes.first_chunk::<4>() {
        assert!(frame_length(*length).map_or(true, |length| length <= PYTHON_FRAME_BYTES_MAX));
    }
    match (decode(bytes), decode(bytes)) {
        (Ok(frame), Ok(again)) => assert!(frame == again || format!("{frame:?}").contains("NaN")),
        (Err(error), Err(again)) => assert_eq!(error.to_string(), again.to_string()),
        _ => panic!("it is read once, and refused once"),
    }
}

/// Seeds: each frame.
pub fn seeds() -> Vec<Vec<u8>> {
    let frames = [
        r#"["ready",1,"3.13.1","0.1.0"]"#,
        r#"["broken","env.py cannot be loaded: NameError (env.py:3)"]"#,
        r#"["percepts","ada",false,[{"term":"at","args":[1,{"num":2}]}],[{"atom":"dark"}]]"#,
        r#"["done",7]"#,
        r#"["failed",7,{"term":"no_more","args":["beer"]}]"#,
        r#"["progress",7,0.5]"#,
        r#"["solved",8,[[1,{"var":"X","slot":0}],[[2,3],{"map":[["a",null]]}]],true]"#,
        r#"["refused",8,"unknown","KeyError (actions.py:7)",[{"term":"py_line","args":[7]}]]"#,
        r#"["print",null,"a line"]"#,
        r#"["print","ada","a line"]"#,
        r#"["warn","in the background: ValueError"]"#,
        r#"["grid",7,5,[{"term":"wall","args":[3,0]}]]"#,
    ];
    frames.iter().map(|frame| frame.as_bytes().to_vec()).collect()
}
