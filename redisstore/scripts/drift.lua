-- drift counts what is wrong in a partition's indexes (store.Store.Drift).
-- KEYS: time, ready, due, closed, index
-- ARGV: ..., how many entries of the indexes have been compared before, how many to compare, what instances' keys begin with
-- Reply: OK, what is wrong, how many entries have been compared by now or 0 if that were all
-- include record
local compared, most, prefix = tonumber(ARGV[ARGS]), tonumber(ARGV[ARGS + 1]), ARGV[ARGS + 2]

-- standing reads of a record what place needs.
local function standing(text)
  local status, lease, wake, ready, closed = string.match(text or '',
    '^(%S+) %S+ %d+ %S+ (%d+) %d+ (%d+) %d+ (-?%d+) %d+ %d+ %d+ %S+ %d+ (%d+) %d+ %d+$')
  return status and {status = status, lease = tonumber(lease), wake = tonumber(wake), ready = tonumber(ready), closed = tonumber(closed)}
end

-- records reads the records of some entries of an index with one command, or with one each where the server refuses that:
-- in a Cluster, and to a user who may not read every key.
local function records(key, first, entries)
  local all = redis.pcall('SORT', key, 'BY', 'nosort', 'LIMIT', first, #entries / 2, 'GET', prefix .. '*->k')
  if not all.err then return all end
  all = {}
  for n = 1, #entries, 2 do
    local is = redis.pcall('HGET', prefix .. entries[n], 'k')
    all[#all + 1] = type(is) == 'string' and is or false
  end
  return all
end

-- misplaced counts the entries, from first to last, that stand elsewhere than their records say.
local function misplaced(name, key, first, last)
  local entries, wrong = redis.call('ZRANGE', key, first, last, 'WITHSCORES'), 0
  for n, text in ipairs(records(key, first, entries)) do
    local r = standing(text)
    local index, score
    if r then index, score = place(r) end
    if index ~= name or tonumber(entries[2 * n]) ~= (score == '+inf' and math.huge or score) then wrong = wrong + 1 end
  end
  return wrong
end

local wrong, entries, from = 0, 0, compared -- entries: of the indexes so far
for n, name in ipairs({'ready', 'due', 'closed'}) do
  local size = redis.call('ZCARD', KEYS[1 + n])
  local last = math.min(from + most, entries + size)
  if compared < last and compared >= entries then
    wrong = wrong + misplaced(name, KEYS[1 + n], compared - entries, last - entries - 1)
    compared = last
  end
  entries = entries + size
end
if from == 0 then wrong = wrong + math.abs(redis.call('XLEN', KEYS[5]) - entries) end
return reply('OK', wrong, compared < entries and compared or 0)
