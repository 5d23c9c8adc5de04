import { type FcmCredential, MESSAGING_SCOPE, TOKEN_BOUNDS } from './credential.ts';
import { readTokenResult, unavailable } from './token-answer.ts';

/** Google's machines answer there, whatever their DNS. */
const METADATA_HOST = '169.254.169.254';

const TOKEN_PATH = '/computeMetadata/v1/instance/service-accounts/default/token';

/** The metadata server wants it in requests, and has it in answers: so nobody else is taken for it. */
const FLAVOR = 'metadata-flavor';
const GOOGLE = 'Google';

/**
 * Sends with the service account of this machine, on GCE, GKE and Cloud Run. `GCE_METADATA_HOST` names another server, as
 * for Google's own libraries.
 */
export function machineCredential(projectId: string): FcmCredential {
  return {
    projectId,
    async requestToken({ send, nowMs, signal }) {
      const host = process.env['GCE_METADATA_HOST'] || METADATA_HOST;
      const result = await send({
        ...TOKEN_BOUNDS,
        url: `http://${host}${TOKEN_PATH}?scopes=${encodeURIComponent(MESSAGING_SCOPE)}`,
        headers: { [FLAVOR]: GOOGLE },
        signal,
      });
      if (result.result === 'answered' && result.headers.get(FLAVOR) !== GOOGLE) {
        return unavailable('no-metadata-server');
      }
      return readTokenResult(result, nowMs());
    },
  };
}
