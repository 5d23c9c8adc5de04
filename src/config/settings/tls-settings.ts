import { z } from 'zod';
import { oneOrMore, orNull, text, textThat, wholeNumber } from './setting-kinds.ts';

/** A name with at least one dot, whose last part begins with a letter: so it is no IP address. */
const DOMAIN =
  /^(?=.{1,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])?$/;

const DOMAINS_MAX = 20;

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';

const acme = z
  .strictObject({
    domains: oneOrMore(
      textThat(
        DOMAIN,
        'be a name in lower case such as push.example.com, without * and no IP address',
        '',
      ),
      'The domain names of this server. The certificate covers all of them.',
    ).max(DOMAINS_MAX, { error: `must have at most ${DOMAINS_MAX} entries` }),
    email: textThat(
      /^[\w.+-]{1,64}@[\w.-]{1,189}$/,
      'be one e-mail address',
      'The address to which the authority writes.',
    ),
    directory: z
      .string()
      .refine((url) => /^https:\/\/[^@\s]+$/i.test(url) && URL.canParse(url), {
        error: 'must be an https URL',
      })
      .default(LETS_ENCRYPT)
      .describe('The directory of the authority. Who sets `acme` agrees to its terms.'),
    caFile: orNull(
      text(''),
      "A PEM file of certificate authorities to trust for the directory instead of the system's; null = the system's.",
    ),
    httpPort: wholeNumber(
      { min: 1, max: 65_535 },
      80,
      'The port that answers the checks of the authority, which asks port 80 of each domain. All other requests are redirected to https.',
    ),
  })
  .nullable()
  .default(null)
  .describe('Get and renew a certificate by ACME; null = do not. Not together with `certFile`.');

/** Where the certificate of the public listeners comes from. */
export const tlsSettings = z
  .strictObject({
    certFile: orNull(text(''), 'The PEM file of the certificate with its chain; null = no TLS.'),
    keyFile: orNull(text(''), 'The PEM file of the private key; set together with `certFile`.'),
    acme,
  })
  .prefault({})
  .describe(
    'TLS for both public listeners. Renewed files are used within two minutes, or at SIGHUP.',
  );
