import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from './error-note.tsx';
import { Loading } from './loading.tsx';

interface LazyComponent<Props extends object> {
  (props: Props): VNode;
  /** Loads the script before it is shown, so that what opens by a key opens at once. A failure shows when it is shown. */
  readonly preload: () => void;
}

/** A component whose script is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): LazyComponent<Props> {
  let loaded: ComponentType<Props> | null = null;
  const keep = async (): Promise<ComponentType<Props>> => {
    loaded ??= await load();
    return loaded;
  };
  function Lazy(props: Props): VNode {
    const [Part, setPart] = useState<ComponentType<Props> | null>(() => loaded);
    const [error, setError] = useState<unknown>(undefined);
    const start = (): void => {
      setError(undefined);
      keep().then((part) => setPart(() => part), setError);
    };
    useEffect(() => {
      if (Part === null) start();
    }, []);
    if (Part !== null) return <Part {...props} />;
    return error === undefined ? <Loading /> : <ErrorNote error={error} again={start} />;
  }
  return Object.assign(Lazy, { preload: () => void keep().catch(() => undefined) });
}
