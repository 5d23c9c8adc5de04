import type { ReasonMeanings } from './reason-meaning.ts';

const CHECK_NETWORK =
  'Check DNS, firewalls and proxies between this server and the gateway. The log names the address and the error.';

/** Reasons of attempts without an answer from the gateway. The same for all platforms. */
export const connectionReasons: ReasonMeanings = {
  unreachable: { why: 'this server could not connect to the gateway', advice: CHECK_NETWORK },
  'proxy-unreachable': {
    why: 'the proxy for outgoing requests did not answer',
    advice:
      'Check `outgoing.proxy`, and that this server reaches the proxy: `fanfare doctor --proxy`.',
    hasDetails: true,
  },
  'proxy-refused': {
    why: 'the proxy for outgoing requests did not connect this server to the gateway',
    advice:
      'Status 407: check user and password in `outgoing.proxy`. Status 403: allow CONNECT to the gateway in the proxy. Status 502, 503 or 504: the proxy could not reach the gateway, or look its name up.',
    hasDetails: true,
  },
  'not-allowed': {
    why: 'the host name of the gateway resolves to an address that is not allowed',
    advice: 'Check the DNS of this server.',
  },
  'address-not-allowed': {
    why: 'the host name of the push service resolves to an address that is not allowed',
    advice:
      'Private addresses need `web.allowPrivateAddresses` of the instance, which is meant only for a push service of your own. Otherwise check the DNS of this server.',
  },
  'no-http2': {
    why: 'the server at the address of the gateway does not support HTTP/2',
    advice: 'Let HTTP/2 through proxies and firewalls, or check `origin` of the instance.',
  },
  'turned-away': {
    why: 'the gateway rejected the connection or stream repeatedly, before it processed the request',
  },
  'not-in-time': {
    why: 'no connection to the gateway was free in time',
  },
  'too-many-waiting': { why: 'too many notifications wait for a free connection to the gateway' },
  'too-many-origins': {
    why: 'notifications are being sent to too many push services at the same time',
  },
  'too-large': {
    why: 'the notification is too large for a request to the gateway',
    advice: 'Shorten the text or `data`.',
  },
  closed: {
    why: 'this server closed the connection, because it stopped or its credentials changed',
  },
  'no-answer': { why: 'the gateway did not answer this request in time, and may have accepted it' },
  silence: { why: 'the gateway did not answer any request in time', advice: CHECK_NETWORK },
  reset: { why: 'the gateway cancelled the request' },
  'connection-lost': {
    why: 'the connection to the gateway was lost before its answer, and it may have accepted the notification',
  },
  'protocol-error': {
    why: 'the server at the address of the gateway violated the HTTP/2 protocol',
    advice: 'Check `origin` of the instance, and proxies and firewalls in between.',
  },
};
