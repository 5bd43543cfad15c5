-- listeners finds the runs that listen for an event, in several partitions (store.Listening). It changes nothing, and needs no time.
-- KEYS: of each partition: listener index
-- ARGV: maximum number of runs of a filter, number of ranges of groups, number of filters;
--   of each range, and then of each filter, the bounds of its entries
-- Reply: the first entry of each group of the ranges, once; a group are the entries with the same expressions;
--   of each partition and filter with entries: their numbers, and the entries
local call, match = redis.call, string.match
local GROUP = '^%S* %S* '
local most, ranges = ARGV[1], tonumber(ARGV[2])
local filters = 3 + 2 * ranges -- before those
local groups, known, found = {}, {}, {} -- known: where the entries after a group begin

-- look adds the groups between two entries of an index to the known groups.
local function look(index, from, to, there)
  while true do
    local entry = call('ZRANGEBYLEX', index, from, to, 'LIMIT', 0, 1)[1]
    if not entry then return end
    local group = match(entry, GROUP)
    if group then
      if not known[group] then
        known[group], groups[#groups + 1] = '[' .. string.sub(group, 1, -2) .. '!', entry
      end
      there[group], from = true, known[group]
    else
      from = '(' .. entry -- a hand has written it
    end
  end
end

local groupOf = {} -- of each filter
for n = 1, tonumber(ARGV[3]) do groupOf[n] = match(string.sub(ARGV[filters + 2 * n - 1], 2), GROUP) end

-- partition finds the matching entries of a partition.
local function partition(k)
  local there = {}
  for n = 4, filters, 2 do look(KEYS[k], ARGV[n], ARGV[n + 1], there) end
  for n = 1, #groupOf do
    if ranges == 0 or there[groupOf[n]] then
      local entries = call('ZRANGEBYLEX', KEYS[k], ARGV[filters + 2 * n - 1], ARGV[filters + 2 * n], 'LIMIT', 0, most)
      if entries[1] then
        found[#found + 1], found[#found + 2], found[#found + 3] = k, n, entries
      end
    end
  end
end

for k = 1, #KEYS do
  if call('EXISTS', KEYS[k]) == 1 then partition(k) end -- most partitions have no listeners
end
return {groups, found}
