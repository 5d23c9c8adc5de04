import type { PublishStore } from '../../../../src/push/publish-store.ts';
import type { SimulatedPublishes } from '../push/publishes.ts';
import type { Broken } from '../world.ts';
import type { Endpoints } from './endpoints.ts';
import type { StoreServer } from './server.ts';

export interface Ended {
  readonly server: StoreServer | undefined;
  readonly store: Pick<PublishStore, 'status'>;
  readonly publishes: SimulatedPublishes;
  readonly endpoints: Endpoints;
  readonly nowMs: number;
}

/** `idle`: nothing is left to do. `completion`: the progress of each publish was reported. */
export async function findUnfinished({
  server,
  store,
  publishes,
  endpoints: { progress },
  nowMs,
}: Ended): Promise<readonly Broken[]> {
  const problems: Broken[] = [];
  const say = (rule: string, text: string) => problems.push({ rule, text });
  if (server === undefined) return [{ rule: 'idle', text: 'no server is there' }];
  const { pipeline, webhooks } = server;
  const { jobs, planning } = pipeline.figures();
  const { queuedRows, unwrittenEvents, inFlight } = webhooks.figures();
  const left = { jobs, planning, queuedRows, unwrittenEvents, inFlight };
  if (Object.values(left).some((count) => count > 0)) say('idle', JSON.stringify(left));
  for (const { publish } of publishes.all.values()) {
    const { id, instance, target, webhookUrl } = publish;
    const status = await store.status({ instance, id, nowMs });
    if (status === undefined) continue;
    if (status.state !== 'finished') say('idle', `${id} is ${status.state}`);
    const wanted = [
      ...(webhookUrl === undefined ? [] : ['STARTED', 'FINISHED']),
      ...(target.kind === 'users' ? ['ATTEMPTED'] : []),
    ];
    for (const what of wanted) {
      if (!progress.has(`${what} ${id}`)) say('completion', `${what} of ${id} was not reported`);
    }
  }
  return problems;
}
