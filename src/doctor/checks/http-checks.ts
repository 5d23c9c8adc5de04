import {
  exchange,
  type HttpAnswer,
  type HttpRequest,
  type HttpResult,
} from '../client/http-exchange.ts';
import { type Destination, Link } from '../client/link.ts';
import {
  describeAnswer,
  explainGateway,
  explainSilence,
  isHtml,
} from '../explain/explain-answer.ts';
import { answererOf, proxyAdvice } from '../explain/proxy-advice.ts';
import { type Finding, ok, warning } from '../finding.ts';
import type { Report } from '../report.ts';
import { judgeClock } from './clock-skew.ts';

/** Sends one request on a connection of its own. */
export async function ask(
  to: Destination,
  request: Omit<HttpRequest, 'host'>,
  timeoutMs: number,
): Promise<HttpResult> {
  const opened = await Link.open(to, 'all', timeoutMs);
  if (!opened.ok) {
    return { kind: 'nothing', silence: opened.code === 'TIMEOUT' ? 'timeout' : 'reset' };
  }
  using link = opened.link;
  return await exchange(link, { ...request, host: to.endpoint.host }, timeoutMs);
}

/**
 * Checks what any HTTP client sees: an answer, no redirect, the clock, a connection that can be used again.
 * Asks for a list of channels without a signature: every server of this protocol answers that with a refusal.
 * Gives whether it makes sense to go on.
 */
export async function checkHttp(
  to: Destination,
  appId: string,
  timeoutMs: number,
  report: Report,
): Promise<boolean> {
  const { endpoint } = to;
  const request: HttpRequest = {
    method: 'GET',
    target: `${endpoint.prefix}/apps/${encodeURIComponent(appId)}/channels`,
    host: endpoint.host,
  };
  const opened = await Link.open(to, 'all', timeoutMs);
  if (!opened.ok) {
    const silence = opened.code === 'TIMEOUT' ? 'timeout' : 'reset';
    report.add('http', explainSilence({ kind: 'nothing', silence }, endpoint, timeoutMs));
    return true;
  }
  using link = opened.link;
  const answer = await exchange(link, request, timeoutMs);
  if (answer.kind !== 'answer') {
    report.add('http', explainSilence(answer, endpoint, timeoutMs));
    return true;
  }
  const redirected = answer.status >= 300 && answer.status < 400 && answer.headers.has('location');
  report.add('http', redirected ? ok(`answers ${describeAnswer(answer)}`) : judgeAnswer(answer));
  report.add('redirect', (redirected ? explainGateway(answer) : undefined) ?? ok('none'));
  report.add('clock', judgeClock(answer.headers.get('date'), Date.now()));
  if (redirected) return false;

  const again = await exchange(link, request, timeoutMs);
  report.add('keep-alive', judgeReuse(answer, again));
  return true;
}

function judgeAnswer(answer: HttpAnswer): Finding {
  const gateway = explainGateway(answer);
  if (gateway !== undefined) return gateway;
  if (isHtml(answer)) {
    return warning(
      `a web page answers where the HTTP API should: ${describeAnswer(answer)}`,
      'This server writes no web pages for /apps/…, so a proxy or another site answered. Check that the proxy forwards /apps/ too, and that the path prefix in --url is right.',
    );
  }
  return ok(`answers ${describeAnswer(answer)}`);
}

function judgeReuse(first: HttpAnswer, second: HttpResult): Finding {
  if (second.kind === 'answer') return ok('a connection takes one request after the other');
  const closes = first.headers.get('connection')?.toLowerCase() === 'close';
  return warning(
    `each HTTP request needs a new connection${closes ? ' (Connection: close)' : ''}`,
    `Each trigger then waits for a new TCP and TLS handshake. Turn keep-alive on.\n${proxyAdvice('keep-alive', answererOf(first.headers))}`,
  );
}
