import { isJsonObject, type JsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import { type Header, type Kind, type Line, shapes, text, texts, time } from './line.ts';

/** A text that is no history. The message names the line. */
export class NoHistory extends Error {
  override readonly name = 'NoHistory';
}

/** The fields of each kind of line, in a form that is quick to go through. */
const checks = new Map(
  Object.entries(shapes).map(([op, shape]) => [
    op,
    Object.entries<Kind<unknown>>({ t: time, ...shape }).map(([name, kind]) => ({
      name,
      kind,
      mayMiss: 'mayMiss' in kind,
    })),
  ]),
);

/** Reads one line after the first. `before` is the time of the line before. Throws `NoHistory`. */
export function readLine(line: string, number: number, before: number): Line {
  const value = readObject(line, number);
  const op = value['op'];
  const fields = typeof op === 'string' ? checks.get(op) : undefined;
  if (fields === undefined) {
    const shown = text.is(op) ? JSON.stringify(op) : 'no text of this format';
    throw new NoHistory(`line ${number}: op is ${shown}, and must be one of ${opNames}`);
  }
  for (const { name, kind, mayMiss } of fields) {
    const given = value[name];
    if (given === undefined ? mayMiss : kind.is(given)) continue;
    throw new NoHistory(`line ${number}: ${name} of ${op} must be ${kind.words}`);
  }
  const read = value as unknown as Line;
  if (read.t < before) {
    throw new NoHistory(
      `line ${number}: t is ${read.t} after ${before}, but time does not go back`,
    );
  }
  return read;
}

const opNames = [...checks.keys()].join(', ');

/** The longest time that a header may allow an event. Milliseconds. */
const T_MAX_MS = 600_000;

/** Reads the first line. Throws `NoHistory`. */
export function readHeader(line: string): Header {
  const value = readObject(line, 1);
  if (value['history'] !== 1) {
    throw new NoHistory('line 1: it must begin a history of version 1, with "history":1');
  }
  const { by = '', app = '', T = 5000, rules = {}, webhooks = false } = value;
  const { kept = [], replay = [] } = isJsonObject(rules) ? rules : { kept: rules };
  const must = (isRight: boolean, what: string) => {
    if (!isRight) throw new NoHistory(`line 1: ${what}`);
  };
  must(text.is(by) && text.is(app), `by and app must be ${text.words}`);
  must(time.is(T) && Number(T) <= T_MAX_MS, `T must be a number of milliseconds up to ${T_MAX_MS}`);
  must(texts.is(kept) && texts.is(replay), `rules.kept and rules.replay must be ${texts.words}`);
  return { history: 1, by, app, T, rules: { kept, replay }, webhooks: webhooks === true } as Header;
}

function readObject(line: string, number: number): JsonObject {
  const value = parseJsonObject(line);
  if (value === undefined) throw new NoHistory(`line ${number} is no JSON object`);
  return value;
}
