job "large-coordinator" {
  region      = "eu"
  namespace   = "hunting"
  type        = "service"
  priority    = 60
  datacenters = ["dc1", "dc2"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "coordinator" {
    count = 2
    constraint {
      attribute = "${node.class}"
      value     = "stable"
      operator  = "="
    }
    constraint {
      value    = "true"
      operator = "distinct_hosts"
    }
    task "misstep" {
      driver = "raw_exec"
      config {
        args    = ["coordinator", "--home", "${NOMAD_ALLOC_DIR}/home", "--listen", "${NOMAD_ADDR_grpc}", "--dir", "${NOMAD_ALLOC_DIR}/station", "--store", "postgres://misstep@db.example.org/misstep", "--blobs", "s3://misstep/hunt?endpoint=https://s3.example.org", "--lease-time", "1m0s", "--http", "127.0.0.1:7901"]
        command = "local/misstep/misstep"
      }
      env {
        MISSTEP_COORDINATOR_TLS_CERT      = "${NOMAD_SECRETS_DIR}/tls.crt"
        MISSTEP_COORDINATOR_TLS_CLIENT_CA = "${NOMAD_SECRETS_DIR}/ca.crt"
        MISSTEP_COORDINATOR_TLS_KEY       = "${NOMAD_SECRETS_DIR}/tls.key"
        PGSSLMODE                         = "verify-full"
      }
      resources {
        cpu    = 2000
        memory = 2048
      }
      kill_timeout = "15s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      artifact {
        source = "https://files.example.org/misstep/misstep-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.tar.gz"
        options {
          checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        }
        destination = "local/misstep"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/ca.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ index . \"ca.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ index . \"tls.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.key"
        data        = "{{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ index . \"tls.key\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/environment"
        data        = "AWS_ACCESS_KEY_ID={{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ (index . \"AWS_ACCESS_KEY_ID\").Value | toJSON }}{{ end }}\nAWS_SECRET_ACCESS_KEY={{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ (index . \"AWS_SECRET_ACCESS_KEY\").Value | toJSON }}{{ end }}\nPGPASSWORD={{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ (index . \"PGPASSWORD\").Value | toJSON }}{{ end }}\n"
        change_mode = "restart"
        splay       = "1m0s"
        perms       = "0600"
        env         = true
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/pgpass"
        data        = "{{ with nomadVar \"nomad/jobs/large-coordinator\" }}{{ index . \"pgpass\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      kill_signal = "SIGTERM"
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 4096
    }
    update {
      max_parallel      = 1
      health_check      = "checks"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "checks"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
    network {
      port "grpc" {
        static = 7900
      }
    }
    service {
      name = "large-coordinator"
      port = "grpc"
      check {
        name     = "grpc"
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
      provider = "nomad"
    }
  }
  meta {
    misstep_fleet   = "large"
    misstep_package = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}

job "large-plain" {
  region      = "eu"
  namespace   = "hunting"
  type        = "service"
  priority    = 60
  datacenters = ["dc1", "dc2"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "plain" {
    count = 2
    constraint {
      attribute = "${attr.cpu.arch}"
      value     = "amd64"
      operator  = "="
    }
    constraint {
      attribute = "${meta.rack}"
      value     = "^r[0-9]+$"
      operator  = "regexp"
    }
    task "misstep" {
      driver = "exec"
      config {
        args    = ["runner", "--home", "${NOMAD_ALLOC_DIR}/home", "--coordinator-list", "local/coordinators", "--slots", "4", "--scratch", "${NOMAD_ALLOC_DIR}/trials", "--drain", "2m0s", "--offer", "none"]
        command = "local/misstep/misstep"
      }
      env {
        MISSTEP_TLS_CA   = "${NOMAD_SECRETS_DIR}/ca.crt"
        MISSTEP_TLS_CERT = "${NOMAD_SECRETS_DIR}/tls.crt"
        MISSTEP_TLS_KEY  = "${NOMAD_SECRETS_DIR}/tls.key"
      }
      resources {
        cpu    = 4000
        memory = 4096
      }
      kill_timeout = "2m10s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      artifact {
        source = "https://files.example.org/misstep/misstep-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.tar.gz"
        options {
          checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        }
        destination = "local/misstep"
      }
      template {
        destination = "local/coordinators"
        data        = "{{ range nomadService \"large-coordinator\" }}{{ .Address }}:{{ .Port }}\n{{ end }}"
        change_mode = "noop"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/ca.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-plain\" }}{{ index . \"ca.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-plain\" }}{{ index . \"tls.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.key"
        data        = "{{ with nomadVar \"nomad/jobs/large-plain\" }}{{ index . \"tls.key\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      kill_signal = "SIGTERM"
    }
    spread {
      attribute = "${node.unique.id}"
      weight    = 100
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 1024
    }
    update {
      max_parallel      = 1
      health_check      = "task_states"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "task_states"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
  }
  meta {
    misstep_fleet   = "large"
    misstep_package = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}

job "large-sched" {
  region      = "eu"
  namespace   = "hunting"
  type        = "service"
  priority    = 60
  datacenters = ["dc1", "dc2"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "sched" {
    count = 3
    constraint {
      attribute = "${attr.cpu.arch}"
      value     = "amd64"
      operator  = "="
    }
    constraint {
      attribute = "${node.class}"
      value     = "perturb"
      operator  = "="
    }
    constraint {
      value    = "true"
      operator = "distinct_hosts"
    }
    constraint {
      attribute = "${attr.kernel.version}"
      value     = "^(7\\.([2-9]|[1-9][0-9]+)|([8-9]|[1-9][0-9]+)\\.[0-9]+)([^0-9]|$)"
      operator  = "regexp"
    }
    task "misstep" {
      driver = "raw_exec"
      config {
        args    = ["runner", "--home", "/scratch/misstep/home", "--coordinator-list", "local/coordinators", "--slots", "2", "--scratch", "/scratch/misstep/trials", "--drain", "20s", "--offer", "sched_ext"]
        command = "local/misstep/misstep"
      }
      env {
        MISSTEP_TLS_CA   = "${NOMAD_SECRETS_DIR}/ca.crt"
        MISSTEP_TLS_CERT = "${NOMAD_SECRETS_DIR}/tls.crt"
        MISSTEP_TLS_KEY  = "${NOMAD_SECRETS_DIR}/tls.key"
      }
      resources {
        cpu    = 2000
        memory = 2048
      }
      kill_timeout = "30s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      artifact {
        source = "https://files.example.org/misstep/misstep-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.tar.gz"
        options {
          checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        }
        destination = "local/misstep"
      }
      template {
        destination = "local/coordinators"
        data        = "{{ range nomadService \"large-coordinator\" }}{{ .Address }}:{{ .Port }}\n{{ end }}"
        change_mode = "noop"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/ca.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-sched\" }}{{ index . \"ca.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-sched\" }}{{ index . \"tls.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.key"
        data        = "{{ with nomadVar \"nomad/jobs/large-sched\" }}{{ index . \"tls.key\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      kill_signal = "SIGTERM"
    }
    spread {
      attribute = "${node.unique.id}"
      weight    = 100
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 1024
    }
    update {
      max_parallel      = 1
      health_check      = "task_states"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "task_states"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
  }
  meta {
    misstep_fleet   = "large"
    misstep_package = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}

job "large-machines" {
  region      = "eu"
  namespace   = "hunting"
  type        = "service"
  priority    = 60
  datacenters = ["dc1", "dc2"]
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
    operator  = "="
  }
  constraint {
    attribute = "${attr.nomad.version}"
    value     = ">= 1.4.0-0"
    operator  = "semver"
  }
  group "machines" {
    count = 1
    constraint {
      attribute = "${attr.cpu.arch}"
      value     = "amd64"
      operator  = "="
    }
    constraint {
      attribute = "${node.class}"
      value     = "kvm"
      operator  = "="
    }
    task "misstep" {
      driver = "raw_exec"
      user   = "hunter"
      config {
        args    = ["runner", "--home", "/scratch/misstep/home", "--coordinator-list", "local/coordinators", "--slots", "1", "--scratch", "/scratch/misstep/trials", "--drain", "20s", "--offer", "vm"]
        command = "local/misstep/misstep"
      }
      env {
        MISSTEP_TLS_CA   = "${NOMAD_SECRETS_DIR}/ca.crt"
        MISSTEP_TLS_CERT = "${NOMAD_SECRETS_DIR}/tls.crt"
        MISSTEP_TLS_KEY  = "${NOMAD_SECRETS_DIR}/tls.key"
      }
      resources {
        cpu    = 1000
        memory = 8192
      }
      kill_timeout = "30s"
      logs {
        max_files     = 5
        max_file_size = 10
      }
      artifact {
        source = "https://files.example.org/misstep/misstep-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.tar.gz"
        options {
          checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        }
        destination = "local/misstep"
      }
      template {
        destination = "local/coordinators"
        data        = "{{ range nomadService \"large-coordinator\" }}{{ .Address }}:{{ .Port }}\n{{ end }}"
        change_mode = "noop"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/ca.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-machines\" }}{{ index . \"ca.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.crt"
        data        = "{{ with nomadVar \"nomad/jobs/large-machines\" }}{{ index . \"tls.crt\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/tls.key"
        data        = "{{ with nomadVar \"nomad/jobs/large-machines\" }}{{ index . \"tls.key\" }}{{ end }}"
        change_mode = "noop"
        perms       = "0600"
      }
      template {
        destination = "${NOMAD_SECRETS_DIR}/environment"
        data        = "MISSTEP_TOKEN={{ with nomadVar \"nomad/jobs/large-machines\" }}{{ (index . \"MISSTEP_TOKEN\").Value | toJSON }}{{ end }}\n"
        change_mode = "restart"
        splay       = "1m0s"
        perms       = "0600"
        env         = true
      }
      kill_signal = "SIGTERM"
    }
    spread {
      attribute = "${node.unique.id}"
      weight    = 100
    }
    restart {
      interval = "10m0s"
      attempts = 3
      delay    = "5s"
      mode     = "fail"
    }
    reschedule {
      attempts       = 0
      interval       = "0s"
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "10m0s"
      unlimited      = true
    }
    ephemeral_disk {
      size = 1024
    }
    update {
      max_parallel      = 1
      health_check      = "task_states"
      min_healthy_time  = "5s"
      healthy_deadline  = "5m0s"
      progress_deadline = "15m0s"
      auto_revert       = true
    }
    migrate {
      max_parallel     = 1
      health_check     = "task_states"
      min_healthy_time = "5s"
      healthy_deadline = "5m0s"
    }
  }
  meta {
    misstep_fleet   = "large"
    misstep_package = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  }
}

