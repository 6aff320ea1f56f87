# Shared by the scripts: which JDK, which JVM flags, how to build. Sourced with $here set to the top of the checkout.

# As the property sumac.jvm.flags in pom.xml; and the collector with the smallest footprint, for nothing here allocates much.
SUMAC_JVM_FLAGS="--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED --enable-native-access=ALL-UNNAMED -XX:+IgnoreUnrecognizedVMOptions --sun-misc-unsafe-memory-access=allow -XX:+UseSerialGC -Dio.netty.leakDetection.level=disabled"

fail() {
  echo "sumac: $*" >&2
  exit 1
}

# Feature version of the JDK in a folder, or 0.
jdk_version() {
  if [ -x "$1/bin/javac" ] && [ -r "$1/release" ]; then
    sed -n 's/^JAVA_VERSION="\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' "$1/release"
  else
    echo 0
  fi
}

# Prints the folder of the newest JDK from 17 on; fails when there is none.
newest_jdk() {
  if [ -n "${SUMAC_JAVA_HOME:-}" ]; then
    echo "$SUMAC_JAVA_HOME"
    return 0
  fi
  best='' best_version=16
  on_path=$(command -v javac || true)
  if [ -n "$on_path" ]; then on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")"); fi
  for candidate in "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* "$HOME"/.sdkman/candidates/java/*; do
    [ -n "$candidate" ] && [ -d "$candidate" ] || continue
    version=$(jdk_version "$candidate")
    if [ "${version:-0}" -gt "$best_version" ]; then
      best=$candidate
      best_version=$version
    fi
  done
  [ -n "$best" ] && echo "$best"
}

# Builds the distribution without tests; quiet unless it fails.
build() {
  command -v mvn >/dev/null 2>&1 || fail "Maven is needed to build (Debian: apt-get install maven)"
  echo "sumac: building (once; about a minute, longer when Maven must fetch its plug-ins)" >&2
  log=$(mktemp)
  if ! (cd "$here" && mvn -B -q package -DskipTests) >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "the build failed; its output is above"
  fi
  rm -f "$log"
  touch "$here/cli/target/dist/.built"
}

# The jars of the distribution, in an order that does not change.
class_path() {
  printf '%s:' "$here"/cli/target/dist/*.jar
}

# Prints the JVM option for the start-up archive of a JDK; records the archive first if there is none. With it, processes
# start in a third of the time. Without it everything works too, so a failure to record is not an error.
archive_option() {
  version=$(jdk_version "$1")
  archive="$here/cli/target/dist/start-up-$version.archive"
  if [ "$version" -ge 25 ]; then
    record="-XX:AOTCacheOutput=$archive" use="-XX:AOTCache=$archive"
  else
    record="-XX:ArchiveClassesAtExit=$archive" use="-XX:SharedArchiveFile=$archive"
  fi
  if [ ! -e "$archive" ]; then
    echo "sumac: recording a start-up archive for JDK $version (once; ten seconds)" >&2
    # shellcheck disable=SC2086
    "$1/bin/java" $SUMAC_JVM_FLAGS "$record" -cp "$(class_path)" dev.sumac.cli.Sumac rehearsal >/dev/null 2>&1 || true
    [ -e "$archive" ] || : >"$archive"
  fi
  if [ -s "$archive" ]; then echo "$use"; fi
}
