import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { configSchema } from '../../config/schema.ts';
import { type MemoryPlan, PLENTY_BYTES, SUPPORTED_BYTES, shareMemory } from './shares.ts';

const MIB = 2 ** 20;
const FILES = { connections: 900_000, push: 40_000 };

interface Given {
  readonly mebibytes: number;
  readonly settings?: object;
  readonly threads?: number;
}

function plan({ mebibytes, settings = {}, threads = 1 }: Given): MemoryPlan {
  const config = configSchema.parse(settings);
  return shareMemory({ memoryBytes: mebibytes * MIB, config, threads, openFiles: FILES });
}

const takenBy = ({ ownBytes, costs }: MemoryPlan) =>
  Object.values(costs).reduce((sum: number, cost: number) => sum + cost, ownBytes);

describe('the shares of the memory', () => {
  it('are the usual bounds with plenty of it', () => {
    const { shares, isPlenty, unsentBytes } = plan({ mebibytes: PLENTY_BYTES / MIB });
    expect(isPlenty).toBe(true);
    // The kernel decides how much it takes.
    expect(unsentBytes).toBeUndefined();
    expect(shares).toEqual({
      connections: 900_000,
      subscriptions: 4_194_304,
      socketBytes: Number.POSITIVE_INFINITY,
      waitingBytes: 4_294_967_296,
      historyBytes: 134_217_728,
      cachedCharacters: 134_217_728,
      rememberedItems: 100_000,
      unfinishedBytes: 134_217_728,
      frameBytes: 67_108_864,
      webhookCharacters: 33_554_432,
      pushConnections: 20_000,
      pushHeldBytes: 67_108_864,
      pushDevices: 64_000,
      adminUnreadBytes: 67_108_864,
    });
  });

  it('fit in it together, and leave none of it unused, at any size', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 128, max: PLENTY_BYTES / MIB - 1 }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        (mebibytes, threads, hasTls) => {
          const tls = hasTls ? { certFile: 'c', keyFile: 'k' } : {};
          const found = plan({ mebibytes, threads, settings: { tls } });
          fc.pre(found.leastBytes <= mebibytes * MIB);
          const free = mebibytes * MIB - takenBy(found);
          expect(free).toBeGreaterThan(-100);
          expect(free).toBeLessThan(MIB);
          expect(found.excessBytes).toBe(0);
        },
      ),
    );
  });

  it('never shrink when there is more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 128, max: 20_000 }),
        fc.integer({ min: 1, max: 2_000 }),
        (mebibytes, more) => {
          const small = plan({ mebibytes }).shares;
          const large = plan({ mebibytes: mebibytes + more }).shares;
          for (const [name, bound] of Object.entries(small)) {
            expect(large[name as keyof typeof large]).toBeGreaterThanOrEqual(bound);
          }
        },
      ),
    );
  });

  it('are what the operator has set, at the expense of the others', () => {
    const channels = { historyBytes: 40 * MIB, maxConnections: 500 };
    const { shares } = plan({ mebibytes: 512 });
    const set = plan({ mebibytes: 512, settings: { channels } });
    expect(set.shares).toMatchObject({ historyBytes: 40 * MIB, connections: 500 });
    expect(set.excessBytes).toBe(0);
    expect(set.shares.subscriptions).toBeLessThan(shares.subscriptions);
  });

  it('tell by how much the settings of the operator exceed it', () => {
    const settings = { channels: { historyBytes: 400 * MIB } };
    const { shares, excessBytes, ownBytes } = plan({ mebibytes: 512, settings });
    expect(shares.historyBytes).toBe(400 * MIB);
    expect(excessBytes).toBeGreaterThan(400 * 3 * MIB + ownBytes - 512 * MIB);
    // Everything else is as small as it may be.
    expect(shares.waitingBytes).toBe(MIB);
  });

  it('hold nothing of what is remembered in Redis', () => {
    const settings = { engine: { type: 'redis', url: 'redis://localhost' } };
    const { shares, costs } = plan({ mebibytes: 256, settings });
    expect(shares).toMatchObject({
      historyBytes: 128 * MIB,
      cachedCharacters: 128 * MIB,
      rememberedItems: 100_000,
    });
    expect([costs.historyBytes, costs.cachedCharacters, costs.rememberedItems]).toEqual([0, 0, 0]);
  });

  it('leave room for one of the largest bodies and frames in the smallest memory that is supported', () => {
    const { shares, leastBytes } = plan({ mebibytes: SUPPORTED_BYTES / MIB });
    expect(leastBytes).toBeLessThan(SUPPORTED_BYTES / 1.5);
    expect(shares.unfinishedBytes).toBeGreaterThanOrEqual(MIB);
    expect(shares.frameBytes).toBeGreaterThanOrEqual(65_536);
    expect(shares.connections).toBeGreaterThan(1_000);
  });
});
