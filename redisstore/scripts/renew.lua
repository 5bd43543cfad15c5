-- renew prolongs the leases of a worker in several partitions (store.Store.Renew).
-- KEYS: time and leases of each
-- ARGV: ..., the worker, for how long in ms, the expected time of each
-- Reply: OK, then the time of each, or 0 if the worker has no lease there
local worker, length = ARGV[ARGS], tonumber(ARGV[ARGS + 1])
local done, texts, prolonged, times = head('OK'), redis.call('MGET', unpack(KEYS)), {}, {}
for n = 1, #KEYS, 2 do
  local is = texts[n] and tonumber(string.match(texts[n + 1] or '', ' ' .. worker .. ' (%d+)'))
  times[#times + 1] = '0'
  if is then
    enter(KEYS[n], tonumber(ARGV[ARGS + 1 + (n + 1) / 2]), texts[n])
    times[#times] = moment
    prolonged[#prolonged + 1] = KEYS[n + 1]
    prolonged[#prolonged + 1] = string.gsub(texts[n + 1], ' ' .. worker .. ' %d+', format(' %s %d', worker, math.max(is, now + length)), 1)
  end
end
if #prolonged > 0 then redis.call('MSET', unpack(prolonged)) end
return {done, times}
