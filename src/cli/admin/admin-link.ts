import { isObject } from '../../config/settings/plain-json.ts';
import { serverCommand } from '../channels/running-server.ts';
import { printResult } from '../invocation.ts';
import { noOperand } from '../options.ts';

/** `fanfare admin link`: makes a link that logs in to the dashboard once. */
export const adminLink = serverCommand(async (call) => {
  noOperand(call.given);
  const { status, body } = await call.api.request('POST', '/session/link');
  const token = isObject(body) ? body['token'] : undefined;
  if (typeof token !== 'string') {
    throw new Error(`${call.api.shown} has no dashboard (${status})`);
  }
  const link = `${call.api.browserUrl}/dashboard#token=${token}`;
  return printResult(call, { json: { link }, text: link });
});
