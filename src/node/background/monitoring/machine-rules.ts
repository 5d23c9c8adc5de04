import { type ConditionRule, duration, when } from './rule.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MIB = 1_048_576;

/** The share of open files from which on there is a finding. */
const FILES_NEARLY_USED = 0.9;

/** SQLite needs room for its write-ahead log as well. */
const DISK_LOW_BYTES = 1_024 * MIB;
const DISK_LOW_SHARE = 0.1;
const DISK_FULL_BYTES = 128 * MIB;

const CERTIFICATE_DAYS = 14;

const WRONG_PASSWORDS = 10;

/** Rules about the store and the machine. */
export const machineRules: readonly ConditionRule[] = [
  {
    id: 'store-away',
    check: ({ readiness }) => {
      const [fault] = readiness.faultsOfStore.values();
      return when(fault !== undefined, () => ({
        level: 'bad',
        text: `The store cannot be used: ${fault}.`,
        advice:
          'Free the lock or the disk, or start the database; no restart is needed. Until then events are delivered, the push API answers 503, and webhooks wait in memory.',
      }));
    },
  },
  {
    id: 'unknown-settings',
    check: ({ unknownSettings }) =>
      unknownSettings.map(({ noun, id, settings }) => ({
        key: `${noun} ${id}`,
        level: 'warn',
        text: `This version does not know settings of ${noun} ${id}, and does not apply them: ${settings.join(', ')}.`,
        advice:
          'A later version has stored them. Run that version on all servers. The settings stay in the store.',
      })),
  },
  {
    id: 'disk',
    check: ({ disk }) => {
      if (disk === undefined) return [];
      const { path, freeBytes, bytes } = disk;
      const isLow = freeBytes < DISK_LOW_BYTES && freeBytes < DISK_LOW_SHARE * bytes;
      return when(isLow, () => ({
        level: freeBytes < DISK_FULL_BYTES ? 'bad' : 'warn',
        text: `The disk of the store (${path}) has ${Math.floor(freeBytes / MIB)} MiB left.`,
        advice:
          'Free some. Without room, the push API answers 503, and webhooks and usage wait in memory.',
      }));
    },
  },
  {
    id: 'open-files',
    check: ({ files }) =>
      when(files !== undefined && files.used >= FILES_NEARLY_USED * files.most, () => {
        const { used, most } = files ?? { used: 0, most: 0 };
        return {
          level: used >= most ? 'bad' : 'warn',
          text: `${used} files and connections are open; ${used >= most ? 'new connections are refused' : `from ${most} on new connections are refused`}.`,
          advice: 'Raise the limit of open files (LimitNOFILE, ulimit -n), or add a server.',
        };
      }),
  },
  {
    id: 'certificate',
    alert: 'FanfareCertificateEnds',
    check: ({ certificateEndsAtMs, nowMs }) => {
      if (certificateEndsAtMs === undefined) return [];
      const leftMs = certificateEndsAtMs - nowMs;
      return when(leftMs < CERTIFICATE_DAYS * DAY_MS, () => ({
        level: leftMs <= 0 ? 'bad' : 'warn',
        text:
          leftMs <= 0
            ? `The certificate ended ${duration(-leftMs)} ago. No client can connect.`
            : `The certificate ends in ${duration(leftMs)}.`,
        advice:
          'Renew it (tls.certFile): it is used within two minutes. Find out why that did not happen automatically.',
      }));
    },
  },
  {
    id: 'certificate-order',
    check({ readiness }) {
      const fault = readiness.certificateFault();
      if (fault === undefined) return [];
      const { isMissing, text } = fault;
      return [
        {
          level: isMissing ? 'bad' : 'warn',
          text,
          advice:
            'Check the DNS of the domains (tls.acme.domains), and that port 80 reaches this server. SIGHUP starts a new order immediately, up to four times per hour.',
        },
      ];
    },
  },
  {
    id: 'tls-files',
    check({ readiness }) {
      const fault = readiness.tlsFilesFault();
      if (fault === undefined) return [];
      const { why, sinceMs } = fault;
      return [
        {
          level: 'warn',
          sinceMs,
          text: `The files of TLS cannot be used (${why}). What was read before stays, until the server is restarted.`,
          advice: 'Repair them: they are read each minute.',
        },
      ];
    },
  },
  {
    id: 'log-lines-dropped',
    alert: 'FanfareLogLinesDropped',
    check: ({ samples }) => {
      const dropped = samples.increase('logLinesDropped', 10 * MINUTE_MS);
      return when(dropped > 0, () => ({
        level: 'warn',
        text: `${dropped} lines of the log were dropped in ten minutes.`,
        advice: 'What reads the log is too slow or hangs.',
      }));
    },
  },
  {
    id: 'wrong-passwords',
    alert: 'FanfareWrongPasswords',
    check: ({ samples }) => {
      const wrong = samples.increase('adminRequestsRefused', 10 * MINUTE_MS, 'password-wrong');
      return when(wrong >= WRONG_PASSWORDS, () => ({
        level: 'warn',
        text: `${wrong} wrong passwords of the admin API were tried in ten minutes.`,
        advice: 'The log names the addresses. Let only your own network reach the admin listener.',
      }));
    },
  },
];
