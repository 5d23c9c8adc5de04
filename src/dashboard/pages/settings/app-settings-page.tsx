import type { App } from '../../api/answers.ts';
import { call, type Given } from '../../api/client.ts';
import { asCurl } from '../../api/command.ts';
import { may, seesEverything } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { go } from '../../routing/router.ts';
import { askApps } from '../../shell/apps.ts';
import { AllowedOrigins } from './allowed-origins.tsx';
import { HistoryRules } from './history-rules.tsx';
import { NumberField } from './number-field.tsx';
import { PresenceRules } from './presence-rules.tsx';
import { sourceWords } from './review.tsx';
import { TenantForm } from './tenant-form.tsx';

type Change = NonNullable<Given<'PATCH /apps/{id}'>['body']>;

const switches = [
  { name: 'clientEvents', word: 'Clients may send events to each other' },
  { name: 'subscriptionCounts', word: 'Clients get the number of subscribers' },
  { name: 'watchlists', word: 'Users may watch whether others are online' },
  {
    name: 'authorizedConnectionsOnly',
    word: 'Connections must sign in or subscribe to a private channel',
  },
] as const;

/** How is this app set? */
export default function AppSettingsPage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer('GET /apps/{id}', { path: { id: app } });
  return (
    <div class="page">
      <PageHead
        title="Settings"
        of={app}
        failed={failed}
        says={value && sourceWords('app', value.source)}
      />
      <FailureNotice failed={failed} retry={reload} />
      {value !== undefined && <AppForm key={JSON.stringify(value)} app={value} reload={reload} />}
    </div>
  );
}

function AppForm({ app, reload }: { readonly app: App; readonly reload: () => void }) {
  const path = { id: app.id };
  const isConfigured = app.source === 'configuration';
  return (
    <TenantForm
      noun="app"
      id={app.id}
      isConfigured={isConfigured}
      kept={{
        name: app.name,
        switches: Object.fromEntries(switches.map(({ name }) => [name, app[name]])),
        limits: app.limits,
        history: app.history,
        presence: app.presence,
        allowedOrigins: app.allowedOrigins,
        offlineSeconds: app.offlineSeconds,
        compressAboveBytes: app.compressAboveBytes,
      }}
      switches={switches}
      hint="0 connections or messages per day: no limit."
      bodyOf={({ switches: switched, ...change }): Change => ({ ...change, ...switched })}
      patch={(body, isDryRun) =>
        call('PATCH /apps/{id}', { path, query: isDryRun ? { 'dry-run': 'true' } : {}, body })
      }
      asCurl={(body) => asCurl('PATCH /apps/{id}', { path, body })}
      remove={async () => {
        await call('DELETE /apps/{id}', { path });
        go('/');
      }}
      removed="Its connections are closed with 4003, and its keys are gone."
      done={async () => {
        await askApps();
        reload();
      }}
      below={({ edited, edit, ...form }) => (
        <>
          <AllowedOrigins
            {...form}
            origins={edited.allowedOrigins ?? []}
            change={(allowedOrigins) => edit({ allowedOrigins })}
          />
          <Card
            title="Who is online"
            aside={
              <span class="muted small">
                Seconds for which a user without connections still counts as online.
              </span>
            }
          >
            <div class="inside pair">
              <NumberField
                name="offlineSeconds"
                wrong={form.faultOf('offlineSeconds')}
                disabled={form.isReadOnly}
                value={edited.offlineSeconds ?? null}
                change={(offlineSeconds) => edit({ offlineSeconds })}
              />
            </div>
          </Card>
          <Card
            title="Compression"
            aside={
              <span class="muted small">
                {seesEverything()
                  ? 'From this size on, browsers get events compressed. 0: none.'
                  : 'Set by admins of the whole server.'}
              </span>
            }
          >
            <div class="inside pair">
              <NumberField
                name="compressAboveBytes"
                wrong={form.faultOf('compressAboveBytes')}
                disabled={form.isReadOnly || !seesEverything()}
                value={edited.compressAboveBytes ?? null}
                change={(compressAboveBytes) => edit({ compressAboveBytes })}
              />
            </div>
          </Card>
          <PresenceRules
            {...form}
            rules={edited.presence ?? []}
            change={(presence) => edit({ presence })}
          />
          <HistoryRules
            {...form}
            rules={edited.history ?? []}
            change={(history) => edit({ history })}
            appBytes={edited.limits['historyBytes'] ?? 0}
          />
        </>
      )}
      above={(act) =>
        !app.enabled && (
          <Notice
            level="warn"
            actions={
              <Button
                disabled={!may('admin') || !seesEverything() || isConfigured}
                onClick={() => void act(() => call('POST /apps/{id}/enable', { path }), 'Enabled.')}
              >
                Enable
              </Button>
            }
          >
            <p>
              This app is disabled. Its requests get 403, and its connections are closed with 4003.
            </p>
          </Notice>
        )
      }
      ends={(act) =>
        app.enabled && (
          <Button
            look="danger"
            onClick={() => void act(() => call('POST /apps/{id}/disable', { path }), 'Disabled.')}
          >
            Disable
          </Button>
        )
      }
    />
  );
}
