import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import type { UnknownWhy, UnprocessedWhy } from '../src/outgoing/http2/request.ts';
import { isKnownReason } from '../src/push/explain/advice.ts';
import { timelineWhats } from '../src/push/explain/timeline.ts';
import { type Platform, platforms } from '../src/push/model/device.ts';

/**
 * Every reason in the sources of the gateways and the pipeline has an explanation. Reasons are read from the source
 * text, so that none can be missed.
 */

const ROOT = join(import.meta.dir, '../src');

/** Why a request had no answer. The compiler makes this list complete. */
const silences: Readonly<Record<UnprocessedWhy | UnknownWhy, true>> = {
  unreachable: true,
  'proxy-unreachable': true,
  'proxy-refused': true,
  'not-allowed': true,
  'no-http2': true,
  'turned-away': true,
  'not-in-time': true,
  'too-many-waiting': true,
  'too-large': true,
  closed: true,
  'no-answer': true,
  silence: true,
  reset: true,
  'connection-lost': true,
  'protocol-error': true,
};

/** Constants of the pipeline that are no reasons. */
const NO_REASONS: readonly string[] = ['others'];

async function textOf(folder: string): Promise<string> {
  const texts: string[] = [];
  for await (const file of new Glob(`${folder}/**/*.ts`).scan(ROOT)) {
    if (/\.(test|fixture)\.ts$/.test(file)) continue;
    const text = await Bun.file(join(ROOT, file)).text();
    texts.push(text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1'));
  }
  return texts.join('\n');
}

function all(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}

/** The keys of the tables from a gateway's reasons to what they mean. */
function tableKeys(text: string): readonly string[] {
  const tables = all(text, /Record<string, Meaning>> = \{([\s\S]*?)\n\};/g);
  return tables.flatMap((table) => all(table, /^ {2}(\w+):/gm));
}

function literals(text: string): readonly string[] {
  return [...all(text, /\breason: '([^']+)'/g), ...all(text, /\brefuse\('([^']+)'\)/g)];
}

async function reasonsOf(platform: Platform): Promise<readonly string[]> {
  const text = await textOf(`gateways/${platform}`);
  const found = [...tableKeys(text), ...literals(text)];
  switch (platform) {
    case 'apns':
      return found;
    case 'fcm': {
      const errors = all(text, /TRY_AGAIN_ERRORS[^=]*= \[([\s\S]*?)\]/g);
      const whys = [
        ...all(text, /\b(?:away|wrong)\('([^']+)'/g),
        ...errors.flatMap((list) => all(list, /'(\w+)'/g)),
      ];
      return [...found, ...whys.map((why) => `access-token-${why}`)];
    }
    case 'web': {
      const gone = all(text, /GONE_ERRNOS[^=]*= \[([^\]]*)\]/g).flatMap((list) =>
        all(list, /(\d+)/g),
      );
      const statuses = all(text, /status === (\d{3})/g);
      return [
        ...found,
        ...[...gone, ...all(text, /_ERRNO = (\d+)/g)].map((errno) => `errno-${errno}`),
        ...statuses.map((status) => `http-${status}`),
        ...all(text, /APPLE_\w+ = '([^']+)'/g),
        ...all(text, /: Readonly<Record<string, string>> = \{([\s\S]*?)\n\};/g).flatMap((table) =>
          all(table, /: '([^']+)'/g),
        ),
      ];
    }
    default:
      return platform satisfies never;
  }
}

describe('a reason', () => {
  it.each([
    ['apns', 30],
    ['fcm', 18],
    ['web', 12],
  ] as const)('of the gateway %s is explained', async (platform, least) => {
    const reasons = new Set(await reasonsOf(platform));
    expect(reasons.size).toBeGreaterThanOrEqual(least);
    expect([...reasons].filter((reason) => !isKnownReason(platform, reason))).toEqual([]);
  });

  it('of the pipeline is explained on every platform', async () => {
    const text = `${await textOf('push/delivering')}\n${await Bun.file(join(ROOT, 'push/model/delivery.ts')).text()}`;
    const reasons = new Set([
      ...literals(text),
      ...all(text, /const [A-Z_]+ = '([a-z][a-z-]+)'/g).filter(
        (name) => !NO_REASONS.includes(name),
      ),
    ]);
    expect([...reasons]).toContain('device-removed');
    expect(reasons.size).toBeGreaterThanOrEqual(10);
    for (const platform of platforms) {
      expect([...reasons].filter((reason) => !isKnownReason(platform, reason))).toEqual([]);
    }
  });

  it('of a connection is explained on every platform', () => {
    for (const platform of platforms) {
      const unknown = Object.keys(silences).filter((reason) => !isKnownReason(platform, reason));
      expect(unknown).toEqual([]);
    }
  });
});

it('docs/use/push-troubleshooting.md has every kind of timeline entry with its meaning', async () => {
  const text = await Bun.file(join(ROOT, '../docs/use/push-troubleshooting.md')).text();
  for (const [what, send] of Object.entries(timelineWhats)) {
    expect(text).toContain(`| \`${what}\` | ${send} |`);
  }
});
