import type { ReadReply } from './resp-replies.ts';

/**
 * Texts of scripts for the comparison of the model with a real Redis. The clock and the chance are left to the real one:
 * its script also returns what these commands have answered, and the model goes on with the same answers.
 */
const LEFT_TO_REDIS = ['TIME', 'PTTL', 'HRANDFIELD', 'ZRANDMEMBER'];

const DRAWN = `local DRAWN = {${LEFT_TO_REDIS.map((name) => `${name} = true`).join(', ')}}`;

/** A script that returns the reply of another one, and what was drawn. */
export function drawing(source: string): string {
  return `${DRAWN}
local real, drawn = redis, {}
local redis = {pcall = real.pcall, call = function(name, ...)
  local own = real.call(name, ...)
  if DRAWN[name] then drawn[#drawn + 1] = own end
  return own
end}
local function body() ${source}
end
return {body(), drawn}`;
}

/**
 * A script that returns the reply of another one for what was drawn before, and what it would have drawn itself. Its
 * keys are those of `keysWithDraws`.
 */
export function withDraws(source: string): string {
  return `${DRAWN}
local real, all, own = redis, KEYS, {}
local at, KEYS = tonumber(all[1]) + 2, {}
for i = 2, at - 1 do KEYS[i - 1] = all[i] end
local function take() at = at + 1 return all[at - 1] end
local function given()
  local kind, list = take(), {}
  if kind == 'none' then return false end
  if kind == 'number' then return tonumber(take()) end
  if kind == 'text' then return take() end
  for i = 1, tonumber(take()) do list[i] = given() end
  return list
end
local redis = {pcall = real.pcall, call = function(name, ...)
  local mine = real.call(name, ...)
  if not DRAWN[name] then return mine end
  own[#own + 1] = mine
  return given()
end}
local function body() ${source}
end
return {body(), own}`;
}

export function keysWithDraws(keys: readonly string[], drawn: ReadReply): readonly string[] {
  const values = Array.isArray(drawn) ? drawn : [];
  return [String(keys.length), ...keys, ...values.flatMap(wordsOf)];
}

function wordsOf(value: ReadReply): readonly string[] {
  if (value === null) return ['none'];
  if (typeof value === 'number') return ['number', String(value)];
  if (typeof value === 'string') return ['text', Buffer.from(value.slice(1), 'latin1').toString()];
  return ['list', String(value.length), ...value.flatMap(wordsOf)];
}
