import type { CheckName } from '../../doctor/check-names.ts';
import { ApiClient } from '../../doctor/client/api-client.ts';
import { awaitGreeting, shakeHands } from '../../doctor/client/client-session.ts';
import type { Destination } from '../../doctor/client/link.ts';
import { checkName, checkTcp, checkTls, type Manner } from '../../doctor/client/reach.ts';
import type { Credentials } from '../../doctor/client/signed-request.ts';
import type { Finding } from '../../doctor/finding.ts';
import { DoctorReport, formatCheck } from '../../doctor/report.ts';
import { parseTarget, sameEndpoint, type TargetAddress } from '../../doctor/target.ts';
import { type Output, UsageError } from '../output.ts';

interface Sought {
  readonly urls: readonly string[];
  readonly apiUrl: string | undefined;
  readonly credentials: Credentials;
  readonly manner: Manner;
}

/** Where clients connect, and where events are triggered. */
interface Reached {
  readonly clientsTo: readonly Destination[];
  readonly apiTo: readonly Destination[];
}

/** Tries all addresses as the doctor does. Prints its finding and returns `undefined` if one of them does not work. */
export async function reachServers(
  { urls, apiUrl, credentials, manner }: Sought,
  output: Output,
): Promise<Reached | undefined> {
  const report = new DoctorReport(credentials.secret, (check) => {
    if (check.result === 'failed') output.complain(formatCheck(check));
  });
  const works = (name: CheckName, finding: Finding) => {
    report.add(name, finding);
    return finding.result !== 'failed';
  };
  const clientsTo: Destination[] = [];
  const apiTo: Destination[] = [];
  for (const url of urls) {
    const parsed = parseTarget(url, apiUrl);
    if (!parsed.ok) throw new UsageError(`${parsed.detail}. ${parsed.advice}`);
    const { websocket, api } = parsed.target;
    const to = await reach(websocket, manner, works);
    if (to === undefined) return undefined;
    clientsTo.push(to);
    if (!(await greets(to, credentials.key, manner, works))) return undefined;
    const apiAt = sameEndpoint(websocket, api) ? to : await reach(api, manner, works);
    if (apiAt === undefined) return undefined;
    apiTo.push(apiAt);
    const { timeoutMs } = manner;
    const client = new ApiClient({ to: apiAt, credentials, keyIsKnown: true, timeoutMs });
    const called = await client.channels();
    if (!called.ok && !works('signed-request', called.finding)) return undefined;
  }
  return { clientsTo, apiTo };
}

type Works = (name: CheckName, finding: Finding) => boolean;

async function reach(
  endpoint: TargetAddress,
  manner: Manner,
  works: Works,
): Promise<Destination | undefined> {
  const name = await checkName(endpoint, manner);
  if (!works('dns', name.finding)) return undefined;
  const tcp = await checkTcp(endpoint, name.found, manner);
  if (!works('tcp', tcp.finding) || tcp.destination === undefined) return undefined;
  const isTrusted = manner.insecure || works('tls', await checkTls(tcp.destination, manner));
  return isTrusted ? tcp.destination : undefined;
}

/** Whether a client is let in. */
async function greets(
  to: Destination,
  key: string,
  { timeoutMs }: Manner,
  works: Works,
): Promise<boolean> {
  const { finding, conversation } = await shakeHands(to, key, timeoutMs);
  if (!works('websocket', finding) || conversation === undefined) return false;
  using open = conversation;
  return works('first-message', (await awaitGreeting(open, to, timeoutMs)).finding);
}
