import { type KeyObject, sign } from 'node:crypto';
import { alternativeNames, der, ECDSA, TAG } from './der.ts';

/** Source: RFC 2985, 5.4.2. */
const EXTENSION_REQUEST = Buffer.from('2a864886f70d01090e', 'hex');

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Makes the request for a certificate of these domains, in DER. Source: RFC 2986. */
export function signingRequest(domains: readonly string[], { publicKey, privateKey }: KeyPair) {
  const extensions = der(TAG.sequence, alternativeNames(domains));
  const attribute = [der(TAG.oid, EXTENSION_REQUEST), der(TAG.set, extensions)];
  const signed = der(
    TAG.sequence,
    der(TAG.integer, Buffer.of(0)),
    // The subject: the names stand in the extension.
    der(TAG.sequence),
    publicKey.export({ format: 'der', type: 'spki' }),
    der(TAG.attributes, der(TAG.sequence, ...attribute)),
  );
  const signature = sign('sha256', signed, privateKey);
  return der(TAG.sequence, signed, ECDSA, der(TAG.bits, Buffer.of(0), signature));
}
