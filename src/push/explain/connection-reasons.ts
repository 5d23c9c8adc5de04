import type { ReasonMeanings } from './reason-meaning.ts';

const CHECK_NETWORK =
  'Check the network of this server: that the name of the gateway is found, and that nothing stands between them. The log names the address and the fault.';

/** Reasons of attempts that ended without an answer of the gateway. The same for all platforms. */
export const connectionReasons: ReasonMeanings = {
  unreachable: { why: 'no connection to the gateway could be made', advice: CHECK_NETWORK },
  'not-allowed': {
    why: 'the gateway has an address that may not be connected to',
    advice: 'Check what its name leads to, as seen from this server.',
  },
  'address-not-allowed': {
    why: 'the push service has an address that may not be connected to',
    advice:
      'A private address is refused unless `web.allowPrivateAddresses` of the instance is set, which only a push service of your own needs. Check what the name leads to, as seen from this server.',
  },
  'no-http2': {
    why: 'what answers at the address of the gateway speaks no HTTP/2',
    advice:
      'A proxy or a firewall stands between: let HTTP/2 through, or check `origin` of the instance.',
  },
  'turned-away': { why: 'the gateway turned the request away again and again' },
  'not-in-time': {
    why: 'it waited for a free place on the connections to the gateway until its time was over',
  },
  'too-many-waiting': { why: 'too many wait for a place on the connections to the gateway' },
  'too-many-origins': {
    why: 'browsers of too many push services are sent to at the same time',
  },
  'too-large': {
    why: 'it is larger than a request to the gateway can be',
    advice: 'Publish less: the text, and `data`.',
  },
  closed: {
    why: 'this server closed the connection, as when it is stopped or gets other credentials',
  },
  'no-answer': { why: 'the gateway did not answer this one in time, and may have taken it' },
  silence: { why: 'the gateway answered nothing in time', advice: CHECK_NETWORK },
  reset: { why: 'the gateway gave the request up' },
  'connection-lost': {
    why: 'the connection to the gateway was lost before it answered, and it may have taken it',
  },
  'protocol-error': {
    why: 'what answers at the address of the gateway sent something that is no HTTP/2',
    advice:
      'A proxy or a firewall may stand between. Check `origin` of the instance, and the network of this server.',
  },
};
