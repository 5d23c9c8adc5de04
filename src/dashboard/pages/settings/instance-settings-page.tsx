import type { Instance } from '../../api/answers.ts';
import { call, type Given } from '../../api/client.ts';
import { asCurl } from '../../api/command.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { go } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { MannersFields } from './manners-fields.tsx';
import { sourceWords } from './review.tsx';
import { TenantForm } from './tenant-form.tsx';

type Change = NonNullable<Given<'PATCH /instances/{id}'>['body']>;

const REPLACES = 'replacesOldest';
const DECLARATIVE = 'declarative';

const switches = [
  {
    name: REPLACES,
    word: 'A user with 100 devices of a platform loses the oldest one by signing in on another',
  },
];

const webSwitches = [
  {
    name: DECLARATIVE,
    word: 'Safari gets messages that it can show without the service worker of the site',
  },
];

/** How is this push instance set? */
export default function InstanceSettingsPage({ instance: id }: { readonly instance: string }) {
  const { value, failed, reload } = useAnswer('GET /instances/{id}', { path: { id } });
  return (
    <div class="page">
      <PageHead
        title="Settings"
        of={instances.nameOfId(id)}
        failed={failed}
        says={value && sourceWords('instance', value.source)}
      />
      <FailureNotice failed={failed} retry={reload} />
      {value !== undefined && (
        <InstanceForm key={JSON.stringify(value)} instance={value} reload={reload} />
      )}
    </div>
  );
}

function InstanceForm({
  instance,
  reload,
}: {
  readonly instance: Instance;
  readonly reload: () => void;
}) {
  const path = { id: instance.id };
  return (
    <TenantForm
      noun="instance"
      id={instance.id}
      isConfigured={instance.source === 'configuration'}
      kept={{
        name: instance.name,
        switches: {
          [REPLACES]: instance.whenUserIsFull === 'replace-oldest',
          [DECLARATIVE]: instance.web?.declarative === true,
        },
        limits: instance.limits,
        manners: {
          timeZone: instance.timeZone,
          quietHours: instance.quietHours,
          cap: instance.cap,
        },
      }}
      switches={instance.web === undefined ? switches : [...switches, ...webSwitches]}
      hint="0: no limit."
      below={(editing) => <MannersFields {...editing} />}
      bodyOf={({ switches: switched, manners, ...change }): Change => ({
        ...change,
        ...manners,
        ...(switched?.[REPLACES] !== undefined && {
          whenUserIsFull: switched[REPLACES] ? 'replace-oldest' : 'refuse',
        }),
        ...(switched?.[DECLARATIVE] !== undefined && {
          web: { declarative: switched[DECLARATIVE] },
        }),
      })}
      patch={(body, isDryRun) =>
        call('PATCH /instances/{id}', { path, query: isDryRun ? { 'dry-run': 'true' } : {}, body })
      }
      asCurl={(body) => asCurl('PATCH /instances/{id}', { path, body })}
      remove={async () => {
        await call('DELETE /instances/{id}', { path });
        go('/');
      }}
      removed="Its devices, publishes and keys are gone. Apps must register their devices again."
      done={async () => {
        await instances.ask();
        reload();
      }}
    />
  );
}
