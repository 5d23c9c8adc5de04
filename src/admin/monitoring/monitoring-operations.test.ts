import { expect, it } from 'bun:test';
import { bySeries } from '../../asking/facts/servers.ts';
import type { Admin } from '../admin.ts';
import type { OperationRequest } from '../operation.ts';
import type { Rights } from '../rights.ts';
import { monitoringOperations } from './monitoring-operations.ts';

const condition = { level: 'bad', text: 'x', advice: 'y', sinceMs: 1, servers: [] } as const;

const answers: Readonly<Record<string, object>> = {
  figures: { nowMs: 1, stepMs: 10_000, fromMs: 0, series: bySeries(() => [1]) },
  conditions: {
    checkedAtMs: 1,
    checked: 3,
    conditions: [
      { ...condition, id: 'store-away' },
      { ...condition, id: 'quota', app: 'shop' },
      { ...condition, id: 'quota', app: 'other' },
      { ...condition, id: 'gateway', instance: 'i-1' },
    ],
  },
};

const ask = { everywhere: async (what: string) => ({ servers: [], answer: answers[what] }) };

/** What a caller with these rights gets of an operation. */
async function answerOf(id: string, rights: Pick<Rights, 'apps' | 'instances'>) {
  const found = monitoringOperations.find((one) => one.id === id);
  const call = { path: {}, query: {}, body: undefined, rights: { role: 'viewer', ...rights } };
  return (await found?.run({ ask } as unknown as Admin, call as unknown as OperationRequest))?.body;
}

it('shows each caller the conditions of their own apps and instances only', async () => {
  const idsFor = async (rights: Pick<Rights, 'apps' | 'instances'>) =>
    (
      (await answerOf('listConditions', rights)) as { conditions: { app?: string }[] }
    ).conditions.map((one) => Object.values(one).join(' '));
  expect(await idsFor({ apps: '*', instances: '*' })).toHaveLength(4);
  expect(await idsFor({ apps: ['shop'], instances: [] })).toEqual(['bad x y 1  quota shop']);
  expect(await idsFor({ apps: [], instances: '*' })).toEqual(['bad x y 1  gateway i-1']);
});

it('shows the figures of all tenants together only to who may see all of them', async () => {
  expect(await answerOf('getFigures', { apps: '*', instances: '*' })).toMatchObject({
    series: { connections: [1] },
  });
  expect(await answerOf('getFigures', { apps: '*', instances: [] })).toMatchObject({
    series: { connections: [] },
  });
});
