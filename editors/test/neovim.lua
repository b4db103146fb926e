-- Checks Neovim, headless, with the configuration of docs/guide/editors.md, in a folder with `bob.asl`.

local failed = 0

local function check(what, is_so, seen)
  print((is_so and 'ok   ' or 'FAIL ') .. 'Neovim: ' .. what .. (is_so and '' or ': ' .. vim.inspect(seen)))
  failed = failed + (is_so and 0 or 1)
end

--- Waits until this gives a true value, and returns it.
local function await(give)
  local given
  vim.wait(60000, function()
    given = give()
    return given
  end, 20)
  return given
end

local function line(number) return vim.fn.getline(number) end

local function put_cursor(text, offset)
  vim.fn.cursor(1, 1)
  vim.fn.search('\\V' .. text)
  vim.fn.cursor(vim.fn.line('.'), vim.fn.col('.') + (offset or 0))
end

local function language_server()
  check('language server attaches', await(function() return #vim.lsp.get_clients({ bufnr = 0 }) == 1 end))
  local found = await(function()
    local all = vim.diagnostic.get(0)
    return #all > 0 and all
  end) or {}
  local message = found[1] and found[1].message or ''
  check('diagnostic of a goal without plans', message:find('goal `thank`', 1, true) ~= nil, found)
  put_cursor('.print')
  vim.lsp.buf.hover()
  local hover = await(function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
      end
    end
  end)
  check('hover shows the reference', hover and hover:find('.print', 1, true) ~= nil, hover)
  put_cursor('!serve', 1)
  local asked = vim.lsp.util.make_position_params(0, 'utf-16')
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/completion', asked, 60000) or {}
  local offered = vim.inspect(answers)
  check('completion offers goals', offered:find('"serve', 1, true) ~= nil, offered)
  vim.lsp.buf.definition()
  check('definition is the plan', await(function() return vim.fn.line('.') == 8 end), vim.fn.line('.'))
  vim.lsp.buf.rename('attend')
  await(function() return line(8):find('attend', 1, true) end)
  local both = (line(8) .. line(5)):gsub('%s', '')
  check('rename changes plan and goal', both == '+!attend(Who)<-!attend(ann);', both)
  vim.lsp.buf.format({ timeout_ms = 60000 })
  check('formatting', line(9) == '   <- ?stock(tea, N);', line(9))
end

local function tree_sitter()
  check('tree-sitter highlights', vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil)
  local function captures(text)
    put_cursor(text)
    local found = {}
    for _, capture in ipairs(vim.treesitter.get_captures_at_cursor(0)) do found[capture] = true end
    return found
  end
  vim.treesitter.get_parser(0):parse(true)
  check('comments have their colour', captures('// Has').comment, captures('// Has'))
  check('variables have their colour', captures('Who').variable, captures('Who'))
  vim.wo.foldmethod, vim.wo.foldexpr = 'expr', 'v:lua.vim.treesitter.foldexpr()'
  check('plans fold', await(function() return vim.fn.foldlevel(9) > 0 end), vim.fn.foldlevel(9))
end

local function debugger()
  local is_there, dap = pcall(require, 'dap')
  if not is_there then
    print('left out: Neovim: nvim-dap is not in NVIM_DAP')
    return
  end
  local stopped
  dap.listeners.after.event_stopped.check = function(_, body) stopped = body end
  put_cursor('?stock')
  dap.toggle_breakpoint()
  dap.run(dap.configurations.agentspeak[1])
  local is_hit = await(function() return stopped and stopped.reason == 'breakpoint' end)
  check('nvim-dap pauses at a breakpoint', is_hit, stopped)
  local frame = await(function() return dap.session() and dap.session().current_frame end) or {}
  check('nvim-dap shows the plan', frame.line == 9 and frame.name:find('!serve(ann)', 1, true), frame)
  local value
  dap.session():evaluate('Who', function(_, answer) value = answer and answer.result end)
  check('nvim-dap evaluates a variable', await(function() return value end) == 'ann', value)
  stopped = nil
  dap.step_over()
  check('nvim-dap steps', await(function() return stopped and stopped.reason == 'step' end), stopped)
  dap.terminate()
  check('nvim-dap ends the society', await(function() return dap.session() == nil end))
end

vim.cmd.edit('bob.asl')
local done, why = xpcall(function()
  tree_sitter()
  language_server()
  vim.cmd.edit({ bang = true })
  debugger()
end, debug.traceback)
check('no error', done, why)
vim.cmd.cquit({ count = failed > 0 and 1 or 0, bang = true })
