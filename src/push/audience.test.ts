import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { audiencePages } from './audience.ts';
import type { AudienceSource, NumberRange } from './audience-source.ts';
import type { DeviceId, Recipient } from './model/device.ts';

/** An audience in memory: the device numbers of each name. */
class FakeSource implements AudienceSource {
  /** The most numbers that one read returned. */
  readMost = 0;
  asked = 0;
  private readonly devices: Readonly<Record<string, readonly number[]>>;
  private readonly gone: ReadonlySet<number>;

  constructor(
    devices: Readonly<Record<string, readonly number[]>>,
    gone: ReadonlySet<number> = new Set(),
  ) {
    this.devices = devices;
    this.gone = gone;
  }

  async numbers({ name, after, limit }: NumberRange) {
    this.asked += 1;
    const found = (this.devices[name] ?? []).filter((number) => number > after).slice(0, limit);
    this.readMost = Math.max(this.readMost, found.length);
    return found;
  }

  async recipients(_: number, numbers: readonly number[]) {
    return numbers.filter((number) => !this.gone.has(number)).map(recipient);
  }
}

function recipient(number: number): Recipient {
  return {
    number,
    id: `web-${number}` as DeviceId,
    platform: 'web',
    token: '',
    bundleId: undefined,
    userId: undefined,
    seenAtMs: 0,
    isTrusted: true,
  };
}

async function read(
  source: AudienceSource,
  names: readonly string[],
  { pageDevices = 10, after = 0 } = {},
): Promise<number[][]> {
  const pages: number[][] = [];
  const query = { instance: 1, target: { kind: 'interests', names }, after, pageDevices } as const;
  for await (const { recipients } of audiencePages(source, query)) {
    pages.push(recipients.map(({ number }) => number));
  }
  return pages;
}

const upTo = (last: number, step = 1) =>
  Array.from({ length: Math.floor(last / step) }, (_, index) => (index + 1) * step);

describe('the audience of a publish', () => {
  it('is read page by page in device order', async () => {
    const source = new FakeSource({ a: upTo(25) });
    expect(await read(source, ['a'])).toEqual([
      upTo(10),
      upTo(10).map((number) => number + 10),
      [21, 22, 23, 24, 25],
    ]);
  });

  it('has each device once, however many names match', async () => {
    const source = new FakeSource({ a: upTo(300, 2), b: upTo(300, 3), c: upTo(300) });
    expect((await read(source, ['a', 'b', 'c'])).flat()).toEqual(upTo(300));
  });

  it('is empty if no device subscribes', async () => {
    expect(await read(new FakeSource({}), ['a', 'b'])).toEqual([]);
  });

  it('can be read from after a device on', async () => {
    const source = new FakeSource({ a: upTo(30, 2), b: upTo(30, 3) });
    expect((await read(source, ['a', 'b'], { after: 20 })).flat()).toEqual([
      21, 22, 24, 26, 27, 28, 30,
    ]);
  });

  it('leaves out devices that were deleted meanwhile, and reports how far it was read', async () => {
    const source = new FakeSource({ a: upTo(4) }, new Set([2, 4]));
    const query = {
      instance: 1,
      target: { kind: 'users', names: ['a'] },
      after: 0,
      pageDevices: 4,
    } as const;
    const pages = await Array.fromAsync(audiencePages(source, query));
    expect(pages).toEqual([{ recipients: [recipient(1), recipient(3)], last: 4 }]);
  });

  it('reads only a bounded number ahead of each name', async () => {
    const many = Object.fromEntries(upTo(1000).map((name) => [`user${name}`, upTo(5000, 5)]));
    const source = new FakeSource(many);
    expect((await read(source, Object.keys(many), { pageDevices: 500 })).flat()).toEqual(
      upTo(5000, 5),
    );
    expect(source.readMost).toBe(100);
  });

  it('is right for any audience, page size and start', async () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 300 });
    const property = fc.asyncProperty(
      fc.array(numbers, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 150 }),
      fc.integer({ min: 0, max: 400 }),
      async (lists, pageDevices, after) => {
        const byName = Object.fromEntries(
          lists.map((list, index) => [`n${index}`, list.toSorted((a, b) => a - b)]),
        );
        const pages = await read(new FakeSource(byName), Object.keys(byName), {
          pageDevices,
          after,
        });
        const expected = [...new Set(lists.flat())].filter((number) => number > after);
        expect(pages.flat()).toEqual(expected.sort((a, b) => a - b));
        expect(pages.slice(0, -1).every((page) => page.length === pageDevices)).toBe(true);
      },
    );
    await fc.assert(property);
  });
});
