import { z } from 'zod';
import { orNull, text } from './setting-kinds.ts';

/** The settings of TLS to another server. `ca` and `certificate` describe two of them. */
export function clientTls({
  ca,
  certificate,
  group,
}: {
  readonly ca: string;
  readonly certificate: string;
  readonly group: string;
}) {
  return z
    .strictObject({
      caFile: orNull(text(''), ca),
      certFile: orNull(text(''), certificate),
      keyFile: orNull(text(''), 'The PEM file of its private key; set together with `certFile`.'),
    })
    .prefault({})
    .describe(group);
}
