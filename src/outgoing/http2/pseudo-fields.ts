import { headerBytesMax } from './hpack/header-encoder.ts';
import { type HeaderField, keptField, plainField } from './hpack/header-field.ts';

/** The pseudo-header fields of requests to an origin, without the path. */
export type PseudoFields = Readonly<Record<'POST' | 'DELETE', readonly HeaderField[]>>;

export function pseudoFieldsOf({ protocol, host }: URL): PseudoFields {
  const others = [keptField(':scheme', protocol.slice(0, -1)), keptField(':authority', host)];
  return {
    POST: [keptField(':method', 'POST'), ...others],
    // Too rare for a place in the table.
    DELETE: [plainField(':method', 'DELETE'), ...others],
  };
}

/** The most bytes that they take, whatever the method. */
export function pseudoBytesMax(fields: PseudoFields): number {
  return Math.max(...Object.values(fields).map((some) => headerBytesMax(some, '')));
}
