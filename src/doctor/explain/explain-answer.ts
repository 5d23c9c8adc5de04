import type { HttpAnswer, HttpResult } from '../client/http-exchange.ts';
import { excerpt, type Finding, failed } from '../finding.ts';
import { addressOf, type TargetAddress } from '../target.ts';
import { answererOf, proxyAdvice } from './proxy-advice.ts';

/** What proxies answer when they cannot reach the server behind them, or do not wait for it. */
const gatewayFaults: Readonly<Record<number, string>> = {
  502: 'The proxy runs, but got no answer it understands from the server behind it. Check that the server runs, that the proxy has its right address and port, and that both agree on http or https between them.',
  503: 'The proxy has no server to send this to, or the server answers that it is overloaded or stopping. Check that the server runs and that the health checks of the proxy pass.',
  504: 'The proxy waited for the server behind it and gave up. Check that the server runs, and that a firewall between the two lets the port through.',
  // Cloudflare's own.
  520: 'Cloudflare got an answer that it does not understand from the server. Check the server behind it.',
  521: 'Cloudflare is refused by the server behind it. Check that the server runs and lets the addresses of Cloudflare in.',
  522: 'Cloudflare cannot reach the server behind it in time. Check the firewall, and the address in the DNS settings.',
  523: 'Cloudflare has no route to the server behind it. Check the address in the DNS settings.',
  524: 'Cloudflare waited for the server behind it and gave up.',
  525: 'Cloudflare and the server behind it cannot agree on TLS. Check the SSL mode and the certificate of the server.',
  526: 'Cloudflare does not trust the certificate of the server behind it.',
};

export function isHtml({ headers, body }: HttpAnswer): boolean {
  return (
    headers.get('content-type')?.includes('text/html') === true ||
    /^\s*<(?:!doctype|html)/i.test(body)
  );
}

/** A short form of an answer: its status, its sender, and the beginning of its text. */
export function describeAnswer(answer: HttpAnswer): string {
  const by = answererOf(answer.headers);
  const title = /<title>([^<]*)<\/title>/i.exec(answer.body)?.[1];
  const text = isHtml(answer)
    ? `a web page${title === undefined ? '' : ` "${title}"`}`
    : `"${answer.body}"`;
  return excerpt(
    `${answer.status}${by === '' ? '' : ` from ${by}`}${answer.body === '' ? '' : `, ${text}`}`,
  );
}

/** Explains answers that come from something before the server, whatever was asked; otherwise `undefined`. */
export function explainGateway(answer: HttpAnswer): Finding | undefined {
  const listener = otherListener(answer);
  if (listener !== undefined) {
    return failed(
      `this is Fanfare's ${listener} listener: ${describeAnswer(answer)}`,
      'Channels is on another port, 6001 unless channels.port is set. Fanfare prints the addresses of its listeners when it starts.',
    );
  }
  const fault = gatewayFaults[answer.status];
  if (fault !== undefined) {
    return failed(`a proxy answers instead of the server: ${describeAnswer(answer)}`, fault);
  }
  const location = answer.headers.get('location');
  if (answer.status >= 300 && answer.status < 400 && location !== undefined) {
    return explainRedirect(answer.status, location);
  }
  if (answer.status === 407 || answer.headers.has('www-authenticate')) {
    return failed(
      `something before the server asks for a password: ${describeAnswer(answer)}`,
      'Take the paths /app/ and /apps/ out of the basic authentication of the proxy: this protocol brings its own.',
    );
  }
  return undefined;
}

/** The listener of Fanfare that gave an answer, if Channels has another one. */
function otherListener({ status, headers, body }: HttpAnswer): 'admin' | 'push' | undefined {
  if (headers.get('www-authenticate') === 'Basic realm="Fanfare"') return 'admin';
  const isPush = status === 404 && body.includes('"description":"There is no such path"');
  return isPush ? 'push' : undefined;
}

function explainRedirect(status: number, location: string): Finding {
  const to = excerpt(location);
  return location.startsWith('https:')
    ? failed(
        `http is redirected to https (${status} to ${to}), and neither WebSocket clients nor the server libraries follow redirects`,
        'Use https everywhere: --url https://… here, forceTLS: true (wssPort) in clients, useTLS: true in backends.',
      )
    : failed(
        `the request is redirected (${status} to ${to}), and neither WebSocket clients nor the server libraries follow redirects`,
        'Configure clients and backends with the target address, or remove the redirect for /app/ and /apps/.',
      );
}

/** Explains why there was no HTTP answer at all. */
export function explainSilence(
  result: Exclude<HttpResult, HttpAnswer>,
  endpoint: TargetAddress,
  timeoutMs: number,
): Finding {
  const where = addressOf(endpoint);
  if (result.kind === 'not-http') {
    return failed(
      `what listens at ${where} does not speak HTTP; it says "${excerpt(result.start, 60)}"`,
      'Another service has this port. Check the port in --url, and what listens there (ss -ltnp).',
    );
  }
  const other = endpoint.tls
    ? 'Check the port.'
    : 'If the server has TLS, the URL must begin with https://.';
  switch (result.silence) {
    case 'timeout':
      return failed(
        `${where} takes the connection and then says nothing for ${timeoutMs / 1000} s`,
        `The server or the proxy hangs, or another kind of service has this port. ${other} Look at the log and the load of the server; --timeout waits longer.`,
      );
    case 'closed':
    case 'reset':
      return failed(
        `${where} ${result.silence === 'reset' ? 'resets' : 'closes'} the connection instead of answering`,
        `${other} Otherwise a firewall or a limit of the proxy cuts the connection, or the server has just stopped: look at the logs of both.`,
      );
    default:
      return result.silence satisfies never;
  }
}

/** Explains an answer to a WebSocket handshake that is not 101. */
export function explainHandshake(
  answer: HttpAnswer,
  endpoint: TargetAddress,
  upgradeWasLost: boolean,
): Finding {
  const gateway = explainGateway(answer);
  if (gateway !== undefined) return gateway;
  const said = describeAnswer(answer);
  const upgrade = proxyAdvice('upgrade', answererOf(answer.headers));
  if (upgradeWasLost || answer.status === 426) {
    return failed(
      `the WebSocket is refused because the headers Upgrade and Connection are lost on the way: ${said}`,
      `A proxy removes them. Configure it to forward them.\n${upgrade}`,
    );
  }
  if (/plain http request .* https port/i.test(answer.body)) {
    return failed(`this port expects TLS: ${said}`, 'Write the URL with https://.');
  }
  switch (answer.status) {
    case 404:
      return failed(
        `there is no ${endpoint.prefix}/app/KEY at ${endpoint.host}: ${said}`,
        `If the server is mounted under a path, put it into --url (now "${endpoint.prefix}"), and into its own settings (Fanfare: channels.pathPrefix). If a proxy is before it, check that it forwards ${endpoint.prefix}/app/ to the server.`,
      );
    case 400:
      return failed(
        `the server finds the WebSocket handshake faulty: ${said}`,
        `Usually a proxy drops one of Upgrade, Connection, Sec-WebSocket-Key and Sec-WebSocket-Version. Make it pass them on.\n${upgrade}`,
      );
    case 401:
    case 403:
      return failed(
        `the WebSocket is forbidden: ${said}`,
        'A firewall for web applications, an access rule or a list of allowed origins refuses it. Let /app/ through.',
      );
    case 429:
      return failed(
        `too many connections were asked for: ${said}`,
        'A rate limit of the proxy or the server counts this address. Raise it for /app/, or wait.',
      );
    case 200:
      return failed(
        `something else answers at ${endpoint.host}${endpoint.prefix}/app/KEY: ${said}`,
        `The proxy sends this path to another site, or drops the headers Upgrade and Connection. Check that it forwards ${endpoint.prefix}/app/ to the server.\n${upgrade}`,
      );
    default:
      return failed(
        `the WebSocket is refused: ${said}`,
        answer.status >= 500
          ? 'The server failed; look at its log.'
          : 'Look at the logs of the proxy and of the server for this request.',
      );
  }
}
