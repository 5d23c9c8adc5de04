import { describe, expect, it } from 'bun:test';
import {
  ask,
  BACKEND,
  BACKEND_JSON,
  device,
  INSTANCE,
  NEIGHBOUR,
  open,
  publish,
  publishes,
  reconfigure,
  refusal,
  registered,
  startPush,
  TO_INTERESTS,
} from './exchange.ts';

describe('a secret key that is replaced while the server runs', () => {
  it('is refused from then on, and the new one is accepted; other instances are not affected', async () => {
    await using server = await startPush();
    const [old, next] = ['Bearer old', 'Bearer new'];
    const status = async (authorization: string) =>
      (await publish(server, '/interests', TO_INTERESTS, { authorization })).status;
    const neighbour = async () => {
      const headers = { ...BACKEND_JSON, authorization: `Bearer ${NEIGHBOUR.secretKey}` };
      const target = publishes('/interests', NEIGHBOUR.id);
      return (await ask(server, 'POST', target, { headers, body: TO_INTERESTS })).status;
    };
    await using connection = await open(server);
    const onOpenConnection = async () => {
      const answer = await connection.request({
        method: 'POST',
        target: publishes('/interests'),
        headers: BACKEND_JSON,
        body: JSON.stringify(TO_INTERESTS),
      });
      return answer.status;
    };
    expect([await status(BACKEND.authorization), await status(next)]).toEqual([200, 401]);
    expect(await onOpenConnection()).toBe(200);

    await reconfigure(server, { instance: { secretKeys: ['old', 'new'] } });
    expect([await status(old), await status(next)]).toEqual([200, 200]);
    expect([await status(BACKEND.authorization), await onOpenConnection()]).toEqual([401, 401]);
    expect(await neighbour()).toBe(200);
    expect(server.output.stderr + server.output.stdout).not.toContain(INSTANCE.secretKey);
  });

  it('is refused once its instance is removed', async () => {
    await using server = await startPush();
    const id = await registered(server);
    await reconfigure(server, {
      push: { instances: [{ id: NEIGHBOUR.id, secretKeys: [NEIGHBOUR.secretKey] }] },
    });
    expect((await publish(server, '/interests', TO_INTERESTS)).status).toBe(404);
    expect(await ask(server, 'GET', device(`fcm/${id}`))).toMatchObject(
      refusal(404, 'Instance not found'),
    );
  });
});
