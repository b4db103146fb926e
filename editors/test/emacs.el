;;; emacs.el --- Checks Emacs with the configuration of docs/guide/editors.md  -*- lexical-binding: t -*-
;; In a folder with `bob.asl', in batch mode.

(defvar check-failed nil)

(defun check (what is-so &optional seen)
  "Note WHAT was found: IS-SO, or what was SEEN instead."
  (princ (if is-so (format "ok   Emacs: %s\n" what) (format "FAIL Emacs: %s: %S\n" what seen)))
  (unless is-so (setq check-failed t)))

(defun check-await (give)
  "Wait until GIVE returns a true value, and return it."
  (let ((until (+ (float-time) 60)) found)
    (while (and (not (setq found (funcall give))) (< (float-time) until))
      (accept-process-output nil 0.05))
    found))

(defun check-go (text &optional offset)
  "Put point at TEXT, or OFFSET characters after its beginning."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (+ (match-beginning 0) (or offset 0))))

(defun check-line (number)
  (save-excursion
    (goto-char (point-min))
    (forward-line (1- number))
    (buffer-substring-no-properties (point) (line-end-position))))

(defun check-tree-sitter ()
  (check "tree-sitter is ready" (treesit-ready-p 'agentspeak t))
  (font-lock-ensure)
  (let ((face (lambda (text) (check-go text) (get-text-property (point) 'face))))
    (check "comments have their colour" (eq (funcall face "// Has") 'font-lock-comment-face) (funcall face "// Has"))
    (check "variables have their colour" (eq (funcall face "Who") 'font-lock-variable-name-face) (funcall face "Who"))
    (check "actions have their colour" (eq (funcall face ".print") 'font-lock-builtin-face) (funcall face ".print"))))

(defun check-language-server ()
  ;; `eglot-ensure' connects after the command that opened the file.
  (run-hooks 'post-command-hook)
  (check "language server attaches" (check-await #'eglot-current-server))
  (let ((found (check-await (lambda () (flymake-start) (flymake-diagnostics)))))
    (check "diagnostic of a goal without plans"
           (and found (string-search "goal `thank`" (flymake-diagnostic-text (car found)))) found))
  (check-go ".print")
  (let ((hover (eglot--request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
    (check "hover shows the reference" (string-search ".print" (format "%S" hover)) hover))
  (check-go "!serve" 1)
  (let* ((table (nth 2 (eglot-completion-at-point)))
         (offered (all-completions "" table)))
    (check "completion offers goals" (seq-some (lambda (it) (string-prefix-p "serve" it)) offered) offered))
  (check-go "!serve" 1)
  (xref-find-definitions "LSP identifier at point")
  (check "definition is the plan" (= (line-number-at-pos) 8) (line-number-at-pos))
  (eglot-rename "attend")
  (check "rename changes plan and goal"
         (and (string-search "!attend(ann)" (check-line 5)) (string-search "+!attend(Who)" (check-line 8)))
         (list (check-line 5) (check-line 8)))
  (eglot-format-buffer)
  (check "formatting" (equal (check-line 9) "   <- ?stock(tea, N);") (check-line 9)))

(defun check-debugger ()
  (revert-buffer t t)
  (check-go "?stock")
  (dape-breakpoint-toggle)
  (dape (dape--config-eval 'whimbrel nil))
  (let ((frame (check-await (lambda () (and (dape--live-connection 'stopped t)
                                            (dape--current-stack-frame (dape--live-connection 'stopped t)))))))
    (check "dape pauses at a breakpoint, and shows the plan"
           (and (equal (plist-get frame :line) 9) (string-search "!serve(ann)" (plist-get frame :name))) frame))
  (dape-kill (dape--live-connection 'parent t))
  (check "dape ends the society" (check-await (lambda () (not (dape--live-connection 'parent t))))))

(defun check-all ()
  (condition-case fault
      (progn
        (setq make-backup-files nil create-lockfiles nil)
        (find-file "bob.asl")
        (check-tree-sitter)
        (check-language-server)
        (if (require 'dape nil t) (check-debugger) (princ "left out: Emacs: dape is not installed\n")))
    (error (check "no error" nil fault)))
  (kill-emacs (if check-failed 1 0)))
