import { explainExpiredTimestamp } from '../checks/clock-skew.ts';
import type { HttpResult } from '../client/http-exchange.ts';
import { excerpt, type Finding, failed } from '../finding.ts';
import type { TargetAddress } from '../target.ts';
import { describeAnswer, explainGateway, explainSilence } from './explain-answer.ts';
import { answererOf, proxyAdvice } from './proxy-advice.ts';

/** A signed call, and what was known before it. */
export interface CallContext {
  readonly endpoint: TargetAddress;
  /** From `/apps` on. */
  readonly path: string;
  /** Whether a WebSocket was let in with the same key. */
  readonly keyIsKnown: boolean;
  readonly nowMs: number;
  readonly timeoutMs: number;
}

/** Explains why a signed call was not answered with 200. */
export function explainCall(result: HttpResult, context: CallContext): Finding {
  const { endpoint, timeoutMs } = context;
  if (result.kind !== 'answer') return explainSilence(result, endpoint, timeoutMs);
  const said = describeAnswer(result);
  const by = answererOf(result.headers);
  const gateway = explainGateway(result);
  if (gateway !== undefined) return gateway;
  if (
    result.status === 401 ||
    /unknown auth_key|invalid signature|timestamp expired/i.test(result.body)
  ) {
    return explainUnauthorised(result.body, said, context);
  }
  switch (result.status) {
    case 403:
      return failed(
        `the call is forbidden: ${said}`,
        'The app is disabled or over its quota of messages (Fanfare: fanfare apps enable ID); a firewall for web applications answers 403 too, usually with a web page.',
      );
    case 404:
      return failed(
        `there is no ${endpoint.prefix}${context.path}: ${said}`,
        'Check --app-id. If the server is mounted under a path, put it into --url and into its own settings (Fanfare: channels.pathPrefix); the proxy must forward /apps/ as well as /app/.',
      );
    case 413:
      return failed(
        `the body is too large: ${said}`,
        `The server or a proxy allows less. Raise the limit.\n${proxyAdvice('body', by)}`,
      );
    case 414:
    case 431:
      return failed(
        `the address or the headers are too large: ${said}`,
        `The server or a proxy allows less. Raise the limit.\n${proxyAdvice('header', by)}`,
      );
    case 429:
      return failed(
        `too many calls: ${said}`,
        'A rate limit of the proxy or the server counts this address or app. Raise it, or wait.',
      );
    default:
      return failed(
        `the call is answered with ${said}`,
        result.status >= 500
          ? 'The server failed; look at its log.'
          : 'The text is the reason; check the log of the server for this call.',
      );
  }
}

/** Source of the texts: Channels protocol, §14.1. */
function explainUnauthorised(body: string, said: string, context: CallContext): Finding {
  const expired = explainExpiredTimestamp(body, context.nowMs);
  if (expired !== undefined) return expired;
  if (/unknown auth_key|app .*not (?:be )?found/i.test(body)) {
    return context.keyIsKnown
      ? failed(
          `the key is not one of the app ${appIdOf(context.path)}`,
          'A WebSocket is let in with this key, so the key is right and --app-id is not. Compare both with the server (Fanfare: fanfare apps list).',
        )
      : failed(
          `the server knows no such key for this app: ${said}`,
          'Compare --key and --app-id with the server (Fanfare: fanfare apps list).',
        );
  }
  if (/body_md5/i.test(body)) {
    return failed(
      `the body arrives changed: ${said}`,
      'Something in between rewrites the body of requests: a firewall for web applications, a proxy that transcodes or compresses, or a middleware that parses JSON and serializes it again. Disable it for /apps/.',
    );
  }
  const expected = expectedPath(body);
  const sent = `${context.endpoint.prefix}${context.path}`;
  if (expected !== undefined && expected !== sent) {
    return failed(
      `the path arrives changed: ${sent} was sent, the server saw ${excerpt(expected)}`,
      'A proxy removes or adds a prefix, and the path is part of the signature. Forward it unchanged, or configure the prefix of the server (Fanfare: channels.pathPrefix).',
    );
  }
  if (/invalid signature|signature/i.test(body)) {
    return failed(
      'the secret does not belong to the key: the signature is refused',
      'Compare --secret with the one on the server (Fanfare: in its configuration, or by fanfare apps show ID --secret); look for a space or a line break copied with it. If it is right, a proxy changes the query of the URL.',
    );
  }
  return failed(
    `the call is not authorised: ${said}`,
    'The text is the reason. If it is not a text of this protocol, a proxy requires a login of its own: exclude /apps/ from it.',
  );
}

/** The path in the string that the server expected to be signed. */
function expectedPath(body: string): string | undefined {
  return /HmacSHA256Hex\("(?:GET|POST)(?:\\n|\n)([^"\\\n]*)(?:\\n|\n)/i.exec(body)?.[1];
}

function appIdOf(path: string): string {
  return path.split('/')[2] ?? '';
}
