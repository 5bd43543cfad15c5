-- commits stores what steps of several instances have changed whose records their owners know (store.Store.Commit):
-- they need not be looked into.
-- KEYS: of each: time, instance, history; and if the instance moves: the index that it leaves, and the one that it goes to
-- ARGV: of each: what every script gets; the record as it is, what it becomes, the time that it must come before or 0, the
--       time of the steps, what entries begin with after the time; 1 if it moves, numbers of fields and values to set, of
--       fields to delete and of entries of history;
--       if it moves: what the record becomes after the time of this commit, member, score or nothing for the time of this
--       commit; then fields and values, fields, entries
-- Reply: that of each: OK; LOOK if the record is another one; ROLLED_BACK, GUARD, TIMED_OUT.
-- What is damaged of one instance is LOOK too: it must not keep the others from being stored, and commit tells.
local k, a = 1, 1 -- where keys and arguments of the next begin
local lost, written = seq < SEEN, false -- of the partition: writes; if something has to be noted
local replies = {}

local function leave()
  if written then note(now) end
  written = false
end

local function unfit(...) return type(redis.pcall(...)) == 'table' end

local function commit(moves, sets, unsets, entries)
  if lost then return 'ROLLED_BACK' end
  local instance, history, leaves, goes = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], KEYS[k + 4]
  local guard, becomes, from = ARGV[a + 5], ARGV[a + 4], a + (moves and 15 or 12)
  if redis.pcall('HGET', instance, 'k') ~= ARGV[a + 3] then return 'LOOK' end
  if tonumber(ARGV[a + 6]) > now then return 'GUARD' end
  if guard ~= '0' and now >= tonumber(guard) then return 'TIMED_OUT' end
  local member, score = ARGV[a + 13], ARGV[a + 14]
  if moves and (unfit('ZSCORE', leaves, member) or unfit('ZSCORE', goes, member)) then return 'LOOK' end
  local fields, first = from + sets, from + sets + unsets
  for n = first, first + entries - 1 do -- before all else: if the first goes well, everything does
    if unfit('RPUSH', history, moment .. ARGV[a + 7] .. ARGV[n]) then return 'LOOK' end
  end
  if moves and ARGV[a + 12] ~= '' then becomes = becomes .. moment .. ARGV[a + 12] end
  redis.call('HSET', instance, 'k', becomes, unpack(ARGV, from, fields - 1))
  if unsets > 0 then redis.call('HDEL', instance, unpack(ARGV, fields, first - 1)) end
  if moves then
    if leaves ~= goes then redis.call('ZREM', leaves, member) end
    redis.call('ZADD', goes, score == '' and moment or score, member)
  end
  seq, written = seq + 1, true
  return 'OK'
end

while k <= #KEYS do
  if KEYS[k] ~= timeKey then
    leave()
    enter(KEYS[k], tonumber(ARGV[a + 2]))
    lost = seq < tonumber(ARGV[a])
  end
  ECHO = ARGV[a + 1]
  local moves, sets = ARGV[a + 8] == '1', tonumber(ARGV[a + 9])
  local unsets, entries = tonumber(ARGV[a + 10]), tonumber(ARGV[a + 11])
  replies[#replies + 1] = head(commit(moves, sets, unsets, entries))
  k, a = k + (moves and 5 or 3), a + (moves and 15 or 12) + sets + unsets + entries
end
leave()
return replies
