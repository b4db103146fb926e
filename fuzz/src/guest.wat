;; A guest that does what it is told; see guest.rs. It is prepared for waiting as asyncify would, by hand: of a call that waits, the
;; place in the script is saved.
(module
  (import "whim" "send" (func $send (param i32 i32) (result i32)))
  (import "whim" "take" (func $take (param i32 i32) (result i32)))
  (import "whim" "read" (func $read (param i32 i32) (result i32)))
  (import "whim" "reason" (func $reason (param i32 i32) (result i32)))
  (import "whim" "name" (func $name (param i32 i32) (result i32)))
  (import "whim" "node" (func $node (param i32 i32) (result i32)))
  (import "whim" "timer" (func $timer (param i64 i64) (result i32)))
  (import "whim" "cancel" (func $cancel (param i64) (result i32)))
  (import "whim" "now" (func $now (result i64)))
  (import "whim" "random" (func $random (param i32 i32) (result i32)))
  (import "whim" "log" (func $log (param i32 i32 i32)))
  (import "whim" "print" (func $print (param i32 i32)))
  (import "whim" "register" (func $register (param i32 i32 i32 i32) (result i32)))
  (import "whim" "deregister" (func $deregister (param i32 i32 i32 i32) (result i32)))
  (import "whim" "search" (func $search (param i32 i32 i32 i32) (result i32)))
  (import "whim" "exists" (func $exists (param i32 i32) (result i32)))
  (import "whim" "join" (func $join (param i32 i32) (result i32)))
  (import "whim" "leave" (func $leave (param i32 i32) (result i32)))
  (import "whim" "act" (func $act (param i32 i32 i32 i32) (result i32)))
  (import "whim" "depart" (func $depart (param i32 i32) (result i32)))
  (import "whim" "depart_clone" (func $depart_clone (param i32 i32 i32 i32) (result i32)))
  (import "whim" "discard" (func $discard (param i32 i32)))
  (import "whim" "stop" (func $stop))
  (import "whim" "receive" (func $receive (param i32 i32 i64) (result i32)))
  (import "whim" "sleep" (func $sleep (param i64)))
  (import "whim" "move_to" (func $move_to (param i32 i32) (result i32)))
  (import "whim" "clone_to" (func $clone_to (param i32 i32 i32 i32) (result i32)))
  (import "whim" "storage_get" (func $storage_get (param i32 i32) (result i32)))
  (import "whim" "storage_put" (func $storage_put (param i32 i32 i32 i32) (result i32)))
  (import "whim" "storage_delete" (func $storage_delete (param i32 i32) (result i32)))
  (import "whim" "storage_list" (func $storage_list (param i32 i32 i32 i32) (result i32)))
  (import "whim" "timer_left" (func $timer_left (param i64) (result i64)))
  (import "whim" "recalled" (func $recalled (result i32)))
  (import "whim" "set_lifetime" (func $set_lifetime (param i64) (result i32)))
  (import "whim" "life" (func $life (result i64)))
  (import "whim" "on_failure" (func $on_failure (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  ;; A frame: inform to probe, 7.
  (data (i32.const 3000) "\07\02\05\00\00\00probe\03\09\00\00\00\03\07\00\00\00\00\00\00\00")
  (data (i32.const 3100) "topic:news")
  (global $state (mut i32) (i32.const 0))
  (global $at (mut i32) (i32.const 0))
  (global $end (mut i32) (i32.const 0))
  (func (export "whim_abi") (result i32) (i32.const 1))
  (func (export "whim_inbox") (param i32) (result i32) (i32.const 8192))
  (func (export "asyncify_start_unwind") (param i32) (global.set $state (i32.const 1)))
  (func (export "asyncify_stop_unwind") (global.set $state (i32.const 0)))
  (func (export "asyncify_start_rewind") (param i32) (global.set $state (i32.const 2)))
  (func (export "asyncify_stop_rewind") (global.set $state (i32.const 0)))
  (func (export "whim_timer") (param i64) (result i32) (i32.const 0))
  (func (export "whim_after_move") (param i32 i32) (result i32) (i32.const 0))
  (func (export "whim_before_move"))
  (func $number (param i32) (result i32) (i32.load (i32.add (global.get $at) (local.get 0))))
  (func $call (param $which i32)
    (block $none
    (block $l35
    (block $l34
    (block $l33
    (block $l32
    (block $l31
    (block $l30
    (block $l29
    (block $l28
    (block $l27
    (block $l26
    (block $l25
    (block $l24
    (block $l23
    (block $l22
    (block $l21
    (block $l20
    (block $l19
    (block $l18
    (block $l17
    (block $l16
    (block $l15
    (block $l14
    (block $l13
    (block $l12
    (block $l11
    (block $l10
    (block $l9
    (block $l8
    (block $l7
    (block $l6
    (block $l5
    (block $l4
    (block $l3
    (block $l2
    (block $l1
    (block $l0
      (br_table $l0 $l1 $l2 $l3 $l4 $l5 $l6 $l7 $l8 $l9 $l10 $l11 $l12 $l13 $l14 $l15 $l16 $l17 $l18 $l19 $l20 $l21 $l22 $l23 $l24 $l25 $l26 $l27 $l28 $l29 $l30 $l31 $l32 $l33 $l34 $l35 $none (local.get $which))
    ) (drop (call $send (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $take (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $read (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $reason (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $name (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $node (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $timer (i64.extend_i32_s (call $number (i32.const 1))) (i64.extend_i32_s (call $number (i32.const 5))))) (return)
    ) (drop (call $cancel (i64.extend_i32_s (call $number (i32.const 1))))) (return)
    ) (drop (call $now)) (return)
    ) (drop (call $random (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (call $log (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9))) (return)
    ) (call $print (call $number (i32.const 1)) (call $number (i32.const 5))) (return)
    ) (drop (call $register (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $deregister (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $search (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $exists (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $join (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $leave (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $act (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $depart (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $depart_clone (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (call $discard (call $number (i32.const 1)) (call $number (i32.const 5))) (return)
    ) (call $stop) (return)
    ) (drop (call $receive (call $number (i32.const 1)) (call $number (i32.const 5)) (i64.extend_i32_s (call $number (i32.const 9))))) (return)
    ) (call $sleep (i64.extend_i32_s (call $number (i32.const 1)))) (return)
    ) (drop (call $move_to (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $clone_to (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $storage_get (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $storage_put (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $storage_delete (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    ) (drop (call $storage_list (call $number (i32.const 1)) (call $number (i32.const 5)) (call $number (i32.const 9)) (call $number (i32.const 13)))) (return)
    ) (drop (call $timer_left (i64.extend_i32_s (call $number (i32.const 1))))) (return)
    ) (drop (call $recalled)) (return)
    ) (drop (call $set_lifetime (i64.extend_i32_s (call $number (i32.const 1))))) (return)
    ) (drop (call $life)) (return)
    ) (drop (call $on_failure (call $number (i32.const 1)) (call $number (i32.const 5)))) (return)
    )
  )
  ;; The script is the frame's content, bytes; what is before it is always as long.
  (func (export "whim_handle") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.ne (global.get $state) (i32.const 2))
      (then
        (global.set $end (i32.add (local.get $ptr) (local.get $len)))
        (global.set $at (i32.add (local.get $ptr) (i32.const 41)))))
    (block $done
      (loop $next
        (br_if $done (i32.gt_u (i32.add (global.get $at) (i32.const 17)) (global.get $end)))
        (call $call (i32.load8_u (global.get $at)))
        (br_if $done (i32.eq (global.get $state) (i32.const 1)))
        (global.set $at (i32.add (global.get $at) (i32.const 17)))
        (br $next)))
    (i32.const 0))
)
