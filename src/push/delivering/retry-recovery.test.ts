import { describe, expect, it } from 'bun:test';
import type { BringForward } from '../job-store.ts';
import type { PipelinePorts } from './ports.ts';
import { RetryRecovery } from './retry-recovery.ts';
import { StoreAccess } from './store-access.ts';

const timers = { now: () => 0, after: () => () => undefined };

/** A store in which `waiting` devices of each instance wait for their turn. */
function waitingDevices(waiting: number) {
  const left = new Map<number, number>();
  const asked: BringForward[] = [];
  const bringForward = async (change: BringForward) => {
    asked.push(change);
    const { instance } = change.waiting;
    const before = left.get(instance) ?? waiting;
    const devices = Math.min(before, change.most ?? change.limit);
    left.set(instance, before - devices);
    const next = before > devices ? { dueAtMs: 0, publish: 0, device: asked.length } : undefined;
    return { devices, next };
  };
  const notices = { storeFailed: () => undefined } as unknown as PipelinePorts['notices'];
  const ports = { store: { bringForward } as unknown as PipelinePorts['store'], timers };
  return { asked, recovery: new RetryRecovery(ports, new StoreAccess(timers, notices)) };
}

const ended = (instance: number, devices: number) =>
  ({ instance, platform: 'apns', devices }) as const;

async function bringAll(recovery: RetryRecovery): Promise<void> {
  while (!recovery.isEmpty) await recovery.bringSome([]);
}

describe('a device that came back and has ended', () => {
  it('lets two others come', async () => {
    const { asked, recovery } = waitingDevices(10_000);
    expect(recovery.ended(ended(1, 1))).toBe(true);
    await bringAll(recovery);
    expect(recovery.ended(ended(1, 300))).toBe(true);
    expect(recovery.ended(ended(1, 1))).toBe(false);
    await bringAll(recovery);
    expect(asked.map(({ most }) => most)).toEqual([2, 500, 102]);
  });

  it('lets no more come than wait', async () => {
    const { asked, recovery } = waitingDevices(700);
    recovery.ended(ended(1, 5_000));
    await bringAll(recovery);
    expect(asked.map(({ after }) => after?.device)).toEqual([undefined, 1]);
  });

  it('takes turns with those of other instances', async () => {
    const { asked, recovery } = waitingDevices(10_000);
    recovery.ended(ended(1, 500));
    recovery.ended(ended(2, 300));
    await bringAll(recovery);
    expect(asked.map(({ waiting }) => waiting.instance)).toEqual([1, 2, 1, 2]);
  });
});
