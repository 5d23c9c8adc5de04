import type { LiveStore } from '../../src/push/live-store.ts';
import type { MemoryPublishes } from './publishes.ts';

/** The results of the live parts of publishes in memory. */
export class MemoryLive implements LiveStore {
  private readonly publishes: MemoryPublishes;

  constructor(publishes: MemoryPublishes) {
    this.publishes = publishes;
  }

  async settleLive({
    instance,
    publish,
    result,
    nowMs,
  }: Parameters<LiveStore['settleLive']>[0]): Promise<void> {
    const kept = this.publishes.find(instance, publish);
    if (kept?.live?.phase !== 'asking') return;
    const { live, plan } = kept;
    if ('skipped' in result) Object.assign(live, { phase: 'skipped', why: result.skipped });
    else {
      live.phase = 'done';
      live.users = result.users.map((user) => ({ ...user, atMs: nowMs }));
    }
    if (kept.over === undefined && !plan.ended && plan.claimedBy === undefined) {
      plan.readyAtMs = nowMs;
    }
  }
}
