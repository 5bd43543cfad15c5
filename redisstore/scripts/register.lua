-- register stores an entry of the registry, or deletes one (store.Registry). The change creates no work: it does not count as a write.
-- KEYS: time, the entry, the entries of its kind by their ends, the last version of an entry
-- ARGV: ..., the expected version or -1, an id of this call, the key of the entry or empty if its kind is not listed, number of entries
-- below which there is room for every namespace, maximum number of entries, prefix of the keys of its namespace or empty, lifetime in ms
-- or 0, the value; an entry is deleted if the last two are missing
-- Reply: OK, the version, when it ends or 0; CONFLICT; LIMIT, the number of entries of all namespaces, and of the namespace; CORRUPT for
-- an entry that cannot be read
local expected, id, name, free, most, prefix, length, value = unpack(ARGV, ARGS)
free, most = tonumber(free), tonumber(most)

-- isFull reports whether there is no room for another entry, with the number of all entries and the number in its namespace (store.Room).
local function isFull()
  local all, own = redis.call('ZCARD', KEYS[3]), 0
  if prefix == '' or all < free then return all >= most, all, own end
  for _, key in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    if string.sub(key, 1, #prefix) == prefix then own = own + 1 end
  end
  return own >= most - all, all, own
end

-- unlist removes the keys from the list of which no entry is stored: another program has deleted the entry, or added the key.
local function unlist()
  local entries = string.sub(KEYS[2], 1, -1 - #name)
  for _, key in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    if redis.call('EXISTS', entries .. key) == 0 then redis.call('ZREM', KEYS[3], key) end
  end
end

local text
if expected == '-1' then -- any entry is replaced, even one written by another program
  text = redis.pcall('GET', KEYS[2])
  if type(text) == 'table' then text = false end
else
  text = redis.call('GET', KEYS[2])
end
local version, ends, by = string.match(text or '', '^(%d+) (%d+) (%S+) ')
if by == id then return reply('OK', version, ends) end -- the answer to the first attempt was lost
if text and expected ~= '-1' and tonumber(version or 0) == 0 then return reply(value and 'CORRUPT' or 'CONFLICT') end
if not version or ends ~= '0' and tonumber(ends) <= now then
  text, version = false, '0'
end
if expected ~= '-1' and expected ~= version and (value or text) then return reply('CONFLICT') end
if not value then
  if name ~= '' then redis.call('ZREM', KEYS[3], name) end -- first: an overwritten list is an error, and then the entry stays
  redis.call('DEL', KEYS[2])
  return reply('OK', '0', '0')
end
if name ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  if not text and isFull() then
    unlist()
    local full, all, own = isFull()
    if full then return reply('LIMIT', all, own) end
  end
end
length = tonumber(length)
version, ends = format('%d', redis.call('INCR', KEYS[4])), length > 0 and format('%d', now + length) or '0'
redis.call('SET', KEYS[2], version .. ' ' .. ends .. ' ' .. id .. ' ' .. value)
if length > 0 then redis.call('PEXPIRE', KEYS[2], length + JUMP) end -- so that the partition's time decides, and not this server's
if name ~= '' then redis.call('ZADD', KEYS[3], length > 0 and ends or '+inf', name) end
return reply('OK', version, ends)
