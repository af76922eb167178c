import { useEffect, useState } from 'preact/hooks';

/** Draws again each second while it is on. @returns seconds since it is */
export function useSeconds(isOn: boolean): number {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => setSeconds((now) => now + 1), 1_000);
    return () => clearInterval(timer);
  }, [isOn]);
  return seconds;
}
