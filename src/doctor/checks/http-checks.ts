import {
  exchange,
  type HttpAnswer,
  type HttpRequest,
  type HttpResult,
  unopened,
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

/** The first answer of the HTTP API, and the connection on which it came. */
export interface FirstAnswer {
  readonly finding: Finding;
  readonly answer?: HttpAnswer;
  readonly link?: Link;
}

/** Asks for a list of channels without a signature: every server of this protocol refuses that. */
export async function checkFirstAnswer(
  to: Destination,
  request: HttpRequest,
  timeoutMs: number,
): Promise<FirstAnswer> {
  const opened = await Link.open(to, 'all', timeoutMs);
  if (!opened.ok) return { finding: explainSilence(unopened(opened), to.endpoint, timeoutMs) };
  const { link } = opened;
  const answer = await exchange(link, request, timeoutMs);
  if (answer.kind !== 'answer') {
    link[Symbol.dispose]();
    return { finding: explainSilence(answer, to.endpoint, timeoutMs) };
  }
  const finding = isRedirect(answer)
    ? ok(`answers ${describeAnswer(answer)}`)
    : judgeAnswer(answer);
  return { finding, answer, link };
}

export function isRedirect({ status, headers }: HttpAnswer): boolean {
  return status >= 300 && status < 400 && headers.has('location');
}

export function judgeRedirect(answer: HttpAnswer): Finding {
  return (isRedirect(answer) ? explainGateway(answer) : undefined) ?? ok('none');
}

/** Judges the first answer, unless it is a redirect. */
export function judgeAnswer(answer: HttpAnswer): Finding {
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

/** Judges the answer to a second request on the same connection. */
export function judgeReuse(first: HttpAnswer, second: HttpResult): Finding {
  if (second.kind === 'answer') return ok('a connection takes one request after the other');
  const closes = first.headers.get('connection')?.toLowerCase() === 'close';
  return warning(
    `each HTTP request needs a new connection${closes ? ' (Connection: close)' : ''}`,
    `Each trigger then waits for a new TCP and TLS handshake. Turn keep-alive on.\n${proxyAdvice('keep-alive', answererOf(first.headers))}`,
  );
}
