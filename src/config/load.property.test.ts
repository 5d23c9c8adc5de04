import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { formatProblem } from './file/problems.ts';
import { type LoadedConfig, loadConfig } from './load.ts';
import { settingRows } from './settings-table.ts';

const directory = mkdtempSync(join(tmpdir(), 'fanfare-config-'));
afterAll(() => rmSync(directory, { recursive: true }));

function loadText(file: string, text: string): LoadedConfig {
  writeFileSync(join(directory, file), text);
  return loadConfig({ file, directory, environment: {} });
}

/** Fails unless this is an answer: a configuration, or problems that can be printed, one per line. */
function expectAnswer(loaded: LoadedConfig): void {
  if (loaded.ok) {
    expect(loaded.config.channels.port).toBeNumber();
    return;
  }
  expect(loaded.problems).not.toBeEmpty();
  for (const problem of loaded.problems) {
    expect(problem.path).not.toBe('');
    // Bun's YAML parser gives a key that is no text, as in `? {} : 1`, this name.
    const shown = formatProblem(problem).replaceAll('[object Object]', '');
    expect(shown).not.toMatch(/\n|undefined|\[object/);
  }
}

const names = [...new Set(settingRows().flatMap((row) => row.path.split(/\[\]\.?|\./)))].filter(
  (name) => name !== '',
);
const secretNames = new Set(['secret', 'secretKeys', 'password', 'privateKey', 'key', 'url']);

/** Values in the shape of a configuration, with anything at all at its leaves. */
const { nearly } = fc.letrec((tie) => ({
  nearly: fc.oneof(
    { maxDepth: 8 },
    fc.constantFrom(null, true, 0, -1, 1.5, 70_000, '', 'redis', 'hunter2', []),
    fc.array(tie('nearly'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(...names, 'channels', 'apps', 'keys', '__proto__', 'constructor', 'port '),
      tie('nearly'),
      { maxKeys: 6, noNullPrototype: false },
    ),
  ),
}));

/** Puts the secret only into fields that hold one, where no message may repeat it. */
function keepSecretsInPlace(value: unknown, inSecret = false): unknown {
  if (value === 'hunter2') return inSecret ? value : 'x';
  if (Array.isArray(value)) return value.map((entry) => keepSecretsInPlace(entry, inSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      keepSecretsInPlace(member, inSecret || secretNames.has(name)),
    ]),
  );
}

describe('loading returns a result and never throws, whatever the file holds', () => {
  it('any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) =>
        expectAnswer(loadText('any.json', JSON.stringify(value))),
      ),
    );
  });

  it('what looks like a configuration', () => {
    fc.assert(
      fc.property(nearly, (value) => expectAnswer(loadText('nearly.json', JSON.stringify(value)))),
      { numRuns: 150 },
    );
  });

  it.each(['any.json', 'any.yaml', 'any.toml'])('any text, as %s', (file) => {
    const piece = fc.constantFrom(...'{}[]:,-=#&*!|>\'"\\\n\t @%', 'channels', 'port', '1', '.inf');
    const text = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    fc.assert(fc.property(text, (content) => expectAnswer(loadText(file, content))));
  });

  it.each([
    ['any.json', '['.repeat(100_000)],
    ['any.json', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['any.json', `${'{"channels":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['any.yaml', '['.repeat(100_000)],
    ['any.toml', `channels = ${'['.repeat(100_000)}`],
    ['any.yaml', 'channels: &loop\n  apps: [*loop]\n  keys: *loop\n'],
    ['any.yaml', `{${Array.from({ length: 10_000 }, (_, index) => `x${index}: 1`).join(', ')}}`],
  ])('deep, looped or long: %s', (file, text) => {
    const loaded = loadText(file, text);

    expect(loaded.ok).toBe(false);
    expectAnswer(loaded);
  });

  it('repeats no secret', () => {
    fc.assert(
      fc.property(nearly, (value) => {
        const text = JSON.stringify(keepSecretsInPlace(value));
        const loaded = loadText('secret.json', text);
        expect(JSON.stringify(loaded.ok ? [] : loaded.problems)).not.toContain('hunter2');
      }),
      { numRuns: 150 },
    );
  });
});

it('accepts or refuses any environment variable, and never throws', () => {
  const known = settingRows().flatMap((row) => row.environment ?? []);
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('', 'true', '1', '-1', '1e3', 'redis', 'debug'),
  );
  const name = fc.oneof(
    fc.constantFrom(...known),
    fc.string().map((rest) => `FANFARE_${rest}`),
  );
  fc.assert(
    fc.property(fc.dictionary(name, text), (environment) =>
      expectAnswer(
        loadConfig({ directory: '/nowhere', environment: { ...environment, FANFARE_CONFIG: '' } }),
      ),
    ),
  );
});
