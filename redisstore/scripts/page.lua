-- page reads entries of a partition's sets, one set after the other, and the records of their instances, atomically.
-- KEYS: time, index, sets
-- ARGV: ..., number of entries to skip, maximum number of entries to read, of one set; prefix of instances' keys
-- Reply: OK, the number of the set, entries and scores, records, the number of all entries, and the number of all instances
local before, most, prefix = tonumber(ARGV[ARGS]), tonumber(ARGV[ARGS + 1]), ARGV[ARGS + 2]
local all, set, first = 0, 0, 0
for n = 3, #KEYS do
  local size = redis.call('ZCARD', KEYS[n])
  if set == 0 and before < all + size then set, first = n, before - all end
  all = all + size
end
local entries, records = {}, {}
if set > 0 then
  entries = redis.call('ZRANGE', KEYS[set], first, first + most - 1, 'WITHSCORES')
  -- One command reads them all, unless entries name more than the instance, or the server refuses that: in a Cluster, and to a
  -- user who may not read every key.
  records.err = string.find(entries[1], ' ', 1, true)
  if not records.err then
    records = redis.pcall('SORT', KEYS[set], 'BY', 'nosort', 'LIMIT', first, #entries / 2, 'GET', prefix .. '*->k')
  end
  if records.err then
    records = {}
    for n = 1, #entries, 2 do
      local is = redis.pcall('HGET', prefix .. string.match(entries[n], '^%S+'), 'k')
      records[#records + 1] = type(is) == 'string' and is or ''
    end
  end
end
return reply('OK', set - 2, entries, records, all, redis.call('XLEN', KEYS[2]))
